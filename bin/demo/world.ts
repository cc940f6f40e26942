import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { App } from '#lib/app.ts'
import type { Locale, Role } from '#lib/domains/accounts/rules.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { useLink } from '#lib/domains/privacy-requests/contract.ts'
import type { History } from './history.ts'
import { signInForVisit, type VisitCall, type Visitor, visits } from './visits.ts'

export interface PersonOfDemo {
  email: string
  name: string
  role: Role
  locale: Locale
  /** The name of a demo organization. */
  organisation: string
}
interface DemoPerson extends PersonOfDemo {
  accountId: string
  place: number
  signIns: number
  session?: { cookie: string; expiresAt: Date }
}
export interface AgentOfDemo extends Visitor {
  id: string
  token: string
}
export interface DemoWorldDeps {
  app: App
  history: History
  /** The secret of the installation. */
  secret: string
  /** The password of every account. */
  password: string
}

const hour = 3_600_000
/** A session is renewed when less than this remains. */
const leastLeft = hour
/** Sign-ins of one account per address. The limit is one more per minute, and the story takes less than a minute. */
const signInsHere = 4

/** All people and things of the story, by name. */
export function world({ app, history, secret, password }: DemoWorldDeps) {
  const ask: VisitCall = visits(app)
  const people = new Map<string, DemoPerson>()
  const agents = new Map<string, AgentOfDemo>()
  const organisations = new Map<string, string>()
  const now = () => app.pipeline.clock.now()
  const addressOf = ({ organisation, place, signIns }: DemoPerson): string =>
    `${organisation === 'Sample Clinic' ? '198.51.100' : '192.0.2'}.${1 + ((place * 7 + Math.floor(signIns / signInsHere)) % 250)}`

  function person(email: string): DemoPerson {
    const found = people.get(email)
    if (!found) throw new Error(`nobody has joined as ${email} yet`)
    return found
  }
  function agent(id: string): AgentOfDemo {
    const found = agents.get(id)
    if (!found) throw new Error(`there is no agent ${id} yet`)
    return found
  }

  /** The secret of the newest link in an email to the address. */
  async function linkTo(email: string, purpose: string): Promise<string> {
    const emails = await app.mail.folder.to({ address: email, mark: person(email).accountId })
    const secrets = emails.flatMap(({ name }) => {
      const text = readFileSync(join(app.env.KP_DATA_DIR, 'mail', name), 'latin1').replace(/=\r?\n/g, '')
      const found = new RegExp(`/privacy/confirm#${purpose}\\.(\\w+)`).exec(text)
      return found?.[1] === undefined ? [] : [{ name, secret: found[1] }]
    })
    const newest = secrets.sort((one, other) => (one.name < other.name ? -1 : 1)).at(-1)
    if (!newest) throw new Error(`no letter with a link of the kind "${purpose}" went out`)
    return newest.secret
  }

  return {
    app,
    ask,
    now,
    work: history.work,
    later: history.later,
    person,
    agent,
    agents,
    people,
    secret,
    password,

    async organisation(name: string): Promise<void> {
      organisations.set(name, await app.pipeline.transaction((tx) => createOrganisation(tx, name, now())))
    },
    /** Creates an account, like an operator. */
    async join(given: PersonOfDemo): Promise<void> {
      const organisationId = organisations.get(given.organisation)
      if (organisationId === undefined) throw new Error(`there is no organization ${given.organisation}`)
      const accountId = await app.pipeline.transaction(async (tx) => {
        const { organisation: _, ...account } = given
        const id = await app.accounts.create(tx, {
          ...account,
          organisationId,
          password,
          mustChangePassword: false,
          now: now(),
        })
        await app.pipeline.auditWithin(tx, {
          action: 'create',
          actorId: 'system:demo',
          resourceType: 'account',
          resourceId: id,
          at: now(),
          ip: '',
          details: { role: given.role },
        })
        return id
      })
      people.set(given.email, { ...given, accountId, place: people.size, signIns: 0 })
    },

    /** The person's session, renewed by a new sign-in when it has ended. */
    async as(email: string): Promise<Visitor & { cookie: string }> {
      const known = person(email)
      const address = addressOf(known)
      if (!known.session || known.session.expiresAt.getTime() - now().getTime() < leastLeft) {
        known.session = await signInForVisit(app, secret, { email, password, address, locale: known.locale })
        known.signIns++
      }
      return { cookie: known.session.cookie, address }
    },

    /** Like {@link as}, in a new session, because the console requires a recent password before dangerous actions. */
    async confirmed(email: string): Promise<Visitor & { cookie: string }> {
      delete person(email).session
      return this.as(email)
    },

    /** Follows the newest link in an email to the person. */
    async follow(email: string, purpose: 'verify' | 'cancel' | 'address'): Promise<void> {
      const token = await linkTo(email, purpose)
      await ask({ address: `${addressOf(person(email))}` }, useLink, { body: { token, purpose } })
    },
  }
}
export type World = ReturnType<typeof world>

/** An event of the story. The worker's jobs then run immediately. */
export interface Happening {
  daysAgo: number
  run(world: World): Promise<unknown>
}
