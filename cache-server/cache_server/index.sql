-- The tables of the index; index.py says what is in them.
CREATE TABLE object (
    key BLOB PRIMARY KEY,
    bucket TEXT NOT NULL,
    file TEXT NOT NULL,
    size INTEGER NOT NULL,
    space INTEGER NOT NULL,
    accessed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX by_bucket ON object (bucket, accessed);
CREATE INDEX by_access ON object (accessed);
CREATE TABLE usage (
    bucket TEXT PRIMARY KEY,
    space INTEGER NOT NULL,
    objects INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE probe (one INTEGER PRIMARY KEY CHECK (one = 1), nanoseconds INTEGER NOT NULL) STRICT;
-- What a bucket takes is right after a crash too, as it changes with the rows or not at all.
CREATE TRIGGER added AFTER INSERT ON object BEGIN
    INSERT INTO usage VALUES (NEW.bucket, NEW.space, 1)
        ON CONFLICT (bucket) DO UPDATE SET space = space + NEW.space, objects = objects + 1;
END;
CREATE TRIGGER removed AFTER DELETE ON object BEGIN
    UPDATE usage SET space = space - OLD.space, objects = objects - 1 WHERE bucket = OLD.bucket;
    DELETE FROM usage WHERE bucket = OLD.bucket AND objects = 0;
END;
