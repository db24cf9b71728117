-- Settings that all processes of the database share (ops/settings.c).

-- The row's lock is the lock of all settings.
--: settings_raise_version()
UPDATE settings SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'settings_version' RETURNING CAST(value AS bigint)

-- For turns without a number: turn_write, which returns the version, does not run in them.
--: settings_read_version()
SELECT @settings_version@

--: setting_write(name text, value text)
INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
