-- pawl_submit() refuses, while the caller can still roll back, JSON that no other entry accepts: a key that occurs twice in
-- one object, a number that does not fit into 64 bits, and a NUL character in a string.

-- The walk over all values is needed only for params that hold other objects, or a number or key to look at.
CREATE FUNCTION check_json(given json) RETURNS void LANGUAGE plpgsql AS $$                                              --@ postgres
DECLARE                                                                                                                 --@ postgres
    source CONSTANT text := given::text;                                                                                --@ postgres
    large_number CONSTANT text := '[0-9]{19}|[eE][+]?[0-9]{3}';                                                         --@ postgres
    bad record;                                                                                                         --@ postgres
BEGIN                                                                                                                   --@ postgres
    IF source ~ '(^|[^\\])(\\\\)*\\u0000' THEN                                                                          --@ postgres
        RAISE EXCEPTION 'the params object has a NUL character (\u0000) in a string'                                    --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                                  --@ postgres
    END IF;                                                                                                             --@ postgres
    IF strpos(substr(ltrim(source, E' \t\r\n'), 2), '{') = 0 AND source !~ large_number                                 --@ postgres
       AND (SELECT count(*) = count(DISTINCT k) FROM json_object_keys(given) AS k) THEN                                 --@ postgres
        RETURN;                                                                                                         --@ postgres
    END IF;                                                                                                             --@ postgres
    WITH RECURSIVE v(value, depth) AS (                                                                                 --@ postgres
        SELECT given, 1                                                                                                 --@ postgres
        UNION ALL                                                                                                       --@ postgres
        SELECT c.value, v.depth + 1 FROM v, LATERAL (                                                                   --@ postgres
            SELECT o.value FROM json_each(CASE json_typeof(v.value) WHEN 'object' THEN v.value ELSE '{}' END) AS o      --@ postgres
            UNION ALL                                                                                                   --@ postgres
            SELECT a.value FROM json_array_elements(CASE json_typeof(v.value) WHEN 'array' THEN v.value ELSE '[]' END) AS a    --@ postgres
        ) AS c WHERE v.depth <= 64 -- an engine refuses more levels                                                     --@ postgres
    ), f AS (                                                                                                           --@ postgres
        SELECT (SELECT k FROM json_object_keys(CASE json_typeof(v.value) WHEN 'object' THEN v.value ELSE '{}' END) AS k    --@ postgres
                 GROUP BY k HAVING count(*) > 1 LIMIT 1) AS twice,                                                      --@ postgres
               CASE WHEN json_typeof(v.value) = 'number' THEN left(v.value::text, 100) END AS number,                   --@ postgres
               CASE WHEN json_typeof(v.value) <> 'number' THEN false                                                    --@ postgres
                    WHEN v.value::text ~ '^-?[0-9]+$'                                                                   --@ postgres
                    THEN v.value::text::numeric NOT BETWEEN -9223372036854775808 AND 9223372036854775807                --@ postgres
                    ELSE abs(v.value::text::numeric) >= 1.797693134862315808e308 END AS too_large                       --@ postgres
          FROM v                                                                                                        --@ postgres
    )                                                                                                                   --@ postgres
    SELECT f.twice, f.number INTO bad FROM f WHERE f.twice IS NOT NULL OR f.too_large LIMIT 1;                          --@ postgres
    IF bad.twice IS NOT NULL THEN                                                                                       --@ postgres
        RAISE EXCEPTION 'the params object has the same key twice in one object: %', left(bad.twice, 100)               --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                                  --@ postgres
    ELSIF FOUND THEN                                                                                                    --@ postgres
        RAISE EXCEPTION 'the params object has a number that is too large: integers have at most 64 bits: %', bad.number    --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                                  --@ postgres
    END IF;                                                                                                             --@ postgres
END $$;                                                                                                                 --@ postgres

CREATE OR REPLACE FUNCTION check_params(workflow text, wanted json, given json) RETURNS void LANGUAGE plpgsql AS $$     --@ postgres
DECLARE                                                                                                                 --@ postgres
    unknown text;                                                                                                       --@ postgres
    must_be text;                                                                                                       --@ postgres
    p record;                                                                                                           --@ postgres
BEGIN                                                                                                                   --@ postgres
    PERFORM check_json(given);                                                                                          --@ postgres
    SELECT left(g.key, 100) INTO unknown FROM json_each(given) WITH ORDINALITY AS g(key, value, nth)                    --@ postgres
     WHERE NOT EXISTS (SELECT 1 FROM json_array_elements(COALESCE(wanted, '[]')) AS j WHERE j ->> 'name' = g.key)       --@ postgres
     ORDER BY g.nth LIMIT 1;                                                                                            --@ postgres
    IF FOUND THEN                                                                                                       --@ postgres
        RAISE EXCEPTION 'the workflow % has no param %', workflow, unknown USING ERRCODE = 'invalid_parameter_value';   --@ postgres
    END IF;                                                                                                             --@ postgres
    FOR p IN SELECT w.*, json_typeof(given -> w.name) AS given_type, (given -> w.name)::text AS text                    --@ postgres
               FROM (SELECT j ->> 'name' AS name, COALESCE(j ->> 'type', 'string') AS type,                             --@ postgres
                            COALESCE(j ->> 'required', '') = 'true' AS required, (j -> 'default')::text AS otherwise    --@ postgres
                       FROM json_array_elements(COALESCE(wanted, '[]')) AS j) AS w LOOP                                 --@ postgres
        must_be := CASE WHEN p.type IN ('integer', 'object') THEN 'an ' ELSE 'a ' END || p.type;                        --@ postgres
        IF p.text IS NULL THEN                                                                                          --@ postgres
            CONTINUE WHEN p.otherwise IS NOT NULL OR NOT p.required;                                                    --@ postgres
            RAISE EXCEPTION 'the param % is missing: it must be %', p.name, must_be                                     --@ postgres
                USING ERRCODE = 'invalid_parameter_value';                                                              --@ postgres
        END IF;                                                                                                         --@ postgres
        CONTINUE WHEN CASE p.type WHEN 'integer' THEN p.text ~ '^-?[0-9]+$'                                             --@ postgres
                                  WHEN 'list' THEN p.given_type = 'array' ELSE p.given_type = p.type END;               --@ postgres
        CONTINUE WHEN p.given_type = 'null' AND NOT p.required AND COALESCE(p.otherwise, 'null') = 'null';              --@ postgres
        RAISE EXCEPTION 'the param % must be %, not %', p.name, must_be,                                                --@ postgres
              CASE p.given_type WHEN 'null' THEN 'null' WHEN 'string' THEN 'a string' WHEN 'array' THEN 'a list'        --@ postgres
                                WHEN 'object' THEN 'an object' ELSE 'a ' || p.given_type END                            --@ postgres
            USING ERRCODE = 'invalid_parameter_value';                                                                  --@ postgres
    END LOOP;                                                                                                           --@ postgres
END $$;                                                                                                                 --@ postgres
