-- The rows are those of the bbolt file (package rows says what each value is): a value begins with
-- a checksum of itself and its key. There is no tail: what one commit appends to a
-- ledger is a pack at once. Whoever changes anything of a ledger locks its row of heads first.

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
    value bytea NOT NULL
) WITH (fillfactor = 20);

CREATE TABLE packs (
    number bigint NOT NULL,
    last bigint NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (number, last)
);
COMMENT ON TABLE packs IS 'some entries of a ledger: at first those that one commit appended';
COMMENT ON COLUMN packs.last IS 'the position of the newest one';

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

CREATE VIEW readable AS
SELECT convert_from(l.name, 'UTF8') AS ledger, coalesce(p.last, 0) AS entries, encode(substr(h.value, 5, 32), 'hex') AS head
FROM ledgers l
JOIN heads h ON h.number = l.number
LEFT JOIN LATERAL (SELECT last FROM packs WHERE packs.number = l.number ORDER BY last DESC LIMIT 1) p ON true;
COMMENT ON VIEW readable IS 'for people: each ledger with its newest position and hash; the program does not use it';
