import { createApp } from '#lib/app.ts'
import { oneTimePassword } from '#lib/domains/accounts/passwords.ts'
import type { Env } from '#lib/env.ts'
import { movableClock } from '#lib/kernel/clock.ts'
import { installationSecret } from '#lib/secret.ts'
import { administration } from './administration.ts'
import { beyondFirstAdmin } from './emptiness.ts'
import { history } from './history.ts'
import { knowledgeOf } from './knowledge.ts'
import type { Material } from './material.ts'
import { arrivals, members, staff } from './organisation.ts'
import { projectsUnderWay } from './projects.ts'
import { requestsInEveryState } from './requests.ts'
import { tokensInEveryState } from './tokens.ts'
import { world } from './world.ts'

const day = 86_400_000
/** How long the story is. */
const days = 60

/** The database has more than a first start makes. */
export class NotEmpty extends Error {}

export interface Told {
  password: string
  accounts: { email: string; name: string; role: string; organisation: string }[]
}
export interface StoryOptions {
  /** With the database's URL. Letters go to the folder, whatever mail server there is: nobody of them has a mailbox. */
  env: Env
  material: Material
  /** The present, in which the story ends. */
  until: Date
  /** Of every account; one is made up unless it is given. */
  password?: string | undefined
  /** Told how many of its days are over. */
  progress?: (done: number, of: number) => void
}

/**
 * Lives through sixty days of an example organisation, with the application's own operations and jobs and a clock that is moved.
 * Throws {@link NotEmpty} before anything is changed.
 */
export async function tellStory({
  env,
  material,
  until,
  password = oneTimePassword(),
  progress = () => {},
}: StoryOptions): Promise<Told> {
  const { KP_SMTP_URL: _, ...settings } = env
  const clock = movableClock(new Date(until.getTime() - days * day))
  const app = createApp({ env: { ...settings, KP_LIMITS: 'memory' }, clock })
  try {
    const there = await beyondFirstAdmin(app)
    if (there.length > 0) throw new NotEmpty(there.join(', '))
    const past = history(app, clock)
    const stage = world({ app, history: past, secret: installationSecret(env.KP_DATA_DIR, env.KP_SECRET), password })
    const { happenings, stock } = knowledgeOf(material)
    const requests = requestsInEveryState()
    const all = [
      ...arrivals,
      ...happenings,
      ...tokensInEveryState,
      ...administration(stock),
      ...projectsUnderWay(),
      ...requests.happenings,
    ]
    for (const { daysAgo, run } of all.sort((one, other) => other.daysAgo - one.daysAgo)) {
      await past.moveTo(new Date(until.getTime() - daysAgo * day))
      await run(stage)
      await past.work()
      progress(Math.floor(days - daysAgo), days)
    }
    for (const { daysAgo, run } of requests.last) {
      await past.moveTo(new Date(until.getTime() - daysAgo * day))
      await run(stage)
    }
    progress(days, days)
    return {
      password,
      accounts: [...staff, ...members].map(({ email, name, role, organisation }) => ({
        email,
        name,
        role,
        organisation,
      })),
    }
  } finally {
    await app.close()
  }
}
