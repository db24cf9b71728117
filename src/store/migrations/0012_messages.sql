-- check_params() names types as core/expr/value.c does: a string, not a text.
CREATE OR REPLACE FUNCTION check_params(workflow text, wanted json, given json) RETURNS void LANGUAGE plpgsql AS $$     --@ postgres
DECLARE                                                                                                                 --@ postgres
    unknown text;                                                                                                       --@ postgres
    must_be text;                                                                                                       --@ postgres
    p record;                                                                                                           --@ postgres
BEGIN                                                                                                                   --@ postgres
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
