-- Users who were deleted; see Users.Delete. What they began before is not saved after.
CREATE TABLE deletions (
    subject TEXT PRIMARY KEY, -- SHA-256 of the subject, in hexadecimal
    at      BIGINT NOT NULL   -- UTC, microseconds since 1970
);
