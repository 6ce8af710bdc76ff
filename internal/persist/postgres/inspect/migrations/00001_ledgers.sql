-- The rows are those of the bbolt file (package rows says what each value is): a value begins with
-- a checksum of itself and its key. Whoever appends to a ledger, or changes anything else of it, locks
-- its row of heads first. Whoever moves entries from tail to packs locks its row of ledgers.

-- +goose Up
CREATE TABLE meta (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
COMMENT ON TABLE meta IS 'the store''s identifier, and the keys that sign its heads';

-- Each commit draws its log keys here after it has locked its heads, so the keys of a ledger's
-- entries rise, and no two entries have the same one.
CREATE SEQUENCE log_keys INCREMENT BY 4096 MINVALUE 1 START WITH 4096 NO CYCLE;

-- A daemon's commits lock its row of session 0, so that it can wait for the end of one whose outcome
-- it does not know. Each of its sessions updates a row of its own to know that the server still
-- completes writes, and has what the session has read where its settings promise.
CREATE TABLE marks (
    daemon uuid NOT NULL,
    session bigint NOT NULL,
    n bigint NOT NULL,
    PRIMARY KEY (daemon, session)
) WITH (fillfactor = 50);

CREATE TABLE ledgers (
    number bigint PRIMARY KEY,
    name bytea NOT NULL UNIQUE,
    genesis bytea NOT NULL
);
COMMENT ON COLUMN ledgers.number IS 'the log key of the genesis';

CREATE TABLE heads (
    number bigint PRIMARY KEY,
    position bigint NOT NULL,
    value bytea NOT NULL
) WITH (fillfactor = 20);
COMMENT ON COLUMN heads.position IS 'of the newest entry, as the value says, too';

CREATE TABLE tail (
    number bigint NOT NULL,
    last bigint NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    value bytea NOT NULL,
    PRIMARY KEY (number, last)
);
COMMENT ON TABLE tail IS 'the newest entries of ledgers: a row is what one commit appended to one of them';
COMMENT ON COLUMN tail.last IS 'the position of the newest one';
ALTER TABLE tail ALTER value SET STORAGE EXTERNAL; -- it is compressed already

CREATE TABLE packs (
    number bigint NOT NULL,
    last bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, last)
) PARTITION BY HASH (number);
COMMENT ON TABLE packs IS 'all entries before those of tail, merged: up to 64 of a ledger in a row';
ALTER TABLE packs ALTER value SET STORAGE EXTERNAL;

-- +goose StatementBegin
DO $$ BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format('CREATE TABLE packs_%s PARTITION OF packs FOR VALUES WITH (MODULUS 16, REMAINDER %s)', i, i);
    END LOOP;
END $$;
-- +goose StatementEnd

CREATE VIEW log AS
SELECT number, last, value FROM packs
UNION ALL
SELECT number, last, value FROM tail;
COMMENT ON VIEW log IS 'all entries of all ledgers';

CREATE TABLE lanes (
    number bigint NOT NULL,
    name bytea NOT NULL,
    principal bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, name, principal)
) WITH (fillfactor = 50);

CREATE TABLE singles (
    number bigint NOT NULL,
    upto bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, upto)
) WITH (fillfactor = 70);
COMMENT ON TABLE singles IS 'request IDs, each of which writes one entry: hashes and positions, in blocks';
COMMENT ON COLUMN singles.upto IS 'the largest hash that the block covers';

CREATE TABLE sequences (
    number bigint NOT NULL,
    first bigint NOT NULL,
    block bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, first, block)
);
COMMENT ON TABLE sequences IS 'the position of each lane''s 64th, 128th … entry';
COMMENT ON COLUMN sequences.first IS 'the position of the lane''s first entry';

CREATE TABLE mechanisms (
    number bigint NOT NULL,
    index bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, index)
);

CREATE TABLE counts (
    number bigint NOT NULL,
    index bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, index)
) WITH (fillfactor = 50);

CREATE TABLE reservations (
    number bigint NOT NULL,
    position bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, position)
);

CREATE TABLE amendments (
    number bigint NOT NULL,
    position bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, position)
);

CREATE TABLE checkpoints (
    number bigint NOT NULL,
    position bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, position)
);
COMMENT ON TABLE checkpoints IS 'how ledgers stood at some positions: it follows from their entries, and may be deleted';

CREATE VIEW readable AS
SELECT convert_from(l.name, 'UTF8') AS ledger, h.position AS entries, encode(substr(h.value, 5, 32), 'hex') AS head
FROM ledgers l
JOIN heads h ON h.number = l.number;
COMMENT ON VIEW readable IS 'for people: each ledger with its newest position and hash; the program does not use it';
