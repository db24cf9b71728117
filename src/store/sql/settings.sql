-- Settings that all processes of the database share (ops/settings.c).

-- The lock of this row protects all settings.
--: settings_raise_version()
UPDATE settings SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'settings_version' RETURNING CAST(value AS bigint)

-- Used by turns without a number. Other turns get the version from turn_write.
--: settings_read_version()
SELECT @settings_version@

--: setting_write(name text, value text)
INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
