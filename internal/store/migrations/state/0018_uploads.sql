-- PostgreSQL has tables of uploaded files here. With SQLite they are in a folder.
SELECT 1;
