import { z } from 'zod'
import { job } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { gatherWords, indexUnits, regatherWords } from './gathering.ts'
import { judgeNovelty } from './novelty.ts'
import { recountScopes } from './repository.ts'

/** Milliseconds after which one run ends. */
const patience = 40_000

/** Repeats the work until none remains or the time is over. */
async function exhaust(work: () => Promise<number>): Promise<void> {
  const until = performance.now() + patience
  while (performance.now() < until && (await work()) > 0);
}

const payload = z.unknown()
const cron = '* * * * *'

export const searchJobs = (db: Database, findAgain = regatherWords(db)) => [
  job({ name: 'knowledge.index-words', payload, cron, run: () => exhaust(() => indexUnits(db)) }),
  job({
    name: 'knowledge.gather-words',
    payload,
    cron,
    async run({ now }) {
      await exhaust(() => gatherWords(db))
      await findAgain()
      if (now.getUTCMinutes() === 0) await recountScopes(db, {})
    },
  }),
  job({
    name: 'knowledge.novelty',
    payload,
    cron,
    async run() {
      // Novelty depends on the word table, so update that first.
      await exhaust(() => gatherWords(db))
      await exhaust(() => judgeNovelty(db))
    },
  }),
]
