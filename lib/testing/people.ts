import { hash } from '@node-rs/argon2'
import { encode } from 'next-auth/jwt'
import pg from 'pg'
import { sessionSecret } from '#lib/access/sessions.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import type { TierName, TokenScope } from '#lib/domains/tokens/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from './app.ts'

const day = 86_400_000

/**
 * Gives an account a password. The hash uses Argon2id's smallest parameters, which each hash contains: with production's, every
 * account costs 35 ms of processor time, and every check of its password as much again.
 */
export async function setTestPassword(tx: Transaction, accountId: string, password: string): Promise<void> {
  const passwordHash = await hash(password, { algorithm: 2, memoryCost: 8, timeCost: 1, parallelism: 1 })
  await tx.account.update({ where: { id: accountId }, data: { passwordHash } })
}

export interface Person {
  accountId: string
  organisationId: string
  /** The session, to send as `cookie`. */
  cookie: string
}

/** A person with an open session, in a new organization by default. */
export async function signedIn(
  { app, clock }: TestApp,
  role: Role = 'person',
  within?: string,
): Promise<Person & { password: string }> {
  const now = clock.now()
  const sessionId = newId('ses')
  const password = newId('password')
  const made = await app.db.transaction(async (tx) => {
    const organisationId = within ?? (await createOrganisation(tx, 'Test', now))
    const accountId = await createAccount(tx, {
      organisationId,
      email: `${newId('mail')}@example.org`,
      name: 'Somebody',
      role,
      mustChangePassword: false,
      now,
    })
    await setTestPassword(tx, accountId, password)
    await tx.session.create({
      data: {
        id: sessionId,
        accountId,
        createdAt: now,
        lastSeenAt: now,
        passwordAt: now,
        expiresAt: new Date(now.getTime() + 365 * day),
      },
    })
    return { organisationId, accountId }
  })
  const secret = sessionSecret(app.env.KP_SECRET ?? '')
  const cookie = `next-auth.session-token=${await encode({ token: { sid: sessionId }, secret, maxAge: 3600 })}`
  return { ...made, cookie, password }
}

/** Marks the password as just entered in every open session. */
export const passwordEntered = ({ app, clock }: TestApp, { accountId }: Pick<Person, 'accountId'>) =>
  app.db.prisma.session.updateMany({ where: { accountId }, data: { passwordAt: clock.now() } })

export interface Issued {
  id: string
  token: string
  tokenId: string
}
/** An agent with a token of any scope and tier, as an operator issues it. */
export const issuedAgent = (
  { app, clock }: TestApp,
  scopes: TokenScope[],
  { tier = 'free', owner }: { tier?: TierName; owner?: Person } = {},
): Promise<Issued> =>
  app.db.transaction(async (tx) => {
    const now = clock.now()
    const id = newId('agent')
    await app.agents.issueAgent(tx, {
      agentId: id,
      name: null,
      ownerId: owner?.accountId ?? null,
      organisationId: owner?.organisationId ?? (await createOrganisation(tx, id, now)),
      tier,
      isConsentExplicit: false,
      now,
    })
    const made = await app.tokens.issue(tx, { agentId: id, scopes, name: null, expiresAt: null, now })
    return { id, token: made.key, tokenId: made.id }
  })

/** A further token of an agent, which no other token created. */
export const furtherToken = async ({ app, clock }: TestApp, agentId: string, scopes: TokenScope[]): Promise<Issued> => {
  const now = clock.now()
  const made = await app.db.transaction((tx) =>
    app.tokens.issue(tx, { agentId, scopes, name: null, expiresAt: null, now }),
  )
  return { id: agentId, token: made.key, tokenId: made.id }
}

/** An EU agent in an installation whose settings would reject it, as after a change of the settings. */
export async function europeanAgent(test: TestApp): Promise<Issued> {
  const agent = await issuedAgent(test, ['read', 'write'])
  const owner = new pg.Client({ connectionString: test.ownerUrl })
  await owner.connect()
  try {
    await owner.query(`BEGIN; ALTER TABLE agents DISABLE TRIGGER USER`)
    await owner.query(`UPDATE agents SET region = 'eu' WHERE id = $1`, [agent.id])
    await owner.query(`ALTER TABLE agents ENABLE TRIGGER USER; COMMIT`)
  } finally {
    await owner.end()
  }
  return agent
}

const releasing = new WeakMap<TestApp, Person>()
/** Releases a legal hold as an admin in person, whose password was just entered: no token can do this. */
export async function releaseInPerson(test: TestApp, hold: string) {
  const [existing] = await test.db.query<{ id: string }>(
    undefined,
    'SELECT organisation_id AS id FROM accounts LIMIT 1',
  )
  const admin = releasing.get(test) ?? (await signedIn(test, 'admin', existing?.id))
  releasing.set(test, admin)
  await passwordEntered(test, admin)
  return test.fetch('POST', `/v1/holds/${hold}/release`, admin)
}
