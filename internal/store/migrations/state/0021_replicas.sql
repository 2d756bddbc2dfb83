-- PostgreSQL has tables here that several servers on one database need.
SELECT 1;
