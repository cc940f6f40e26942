-- Who changes an entry names the revision that they read.
ALTER TABLE "grimoire_entries" ADD COLUMN "revision" INTEGER NOT NULL DEFAULT 1;
