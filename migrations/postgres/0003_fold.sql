-- fold is what a search in any case compares: lower case by Unicode's rules
-- whatever locale the database was made with. The collations that can do so
-- differ between versions and builds of Postgres; the first one there is taken.
DO $$
DECLARE
    found text;
BEGIN
    SELECT quote_ident(collname) INTO found
    FROM unnest(ARRAY ['pg_unicode_fast', 'pg_c_utf8', 'und-x-icu']) WITH ORDINALITY AS wanted(name, place)
    JOIN pg_collation ON collname = wanted.name AND collnamespace = 'pg_catalog'::regnamespace
    ORDER BY place LIMIT 1;
    EXECUTE 'CREATE FUNCTION fold(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN lower($1'
        || coalesce(' COLLATE pg_catalog.' || found, '') || ')';
END
$$;
