import { chmod, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type App, createApp } from '#lib/app.ts'
import { type Env, publicUrl, readEnv } from '#lib/config/env.ts'
import { oneTimePassword } from '#lib/domains/accounts/passwords.ts'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { oneTimePasswordLife } from '#lib/domains/accounts/rules.ts'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { lockFirstRun } from './repository.ts'

export interface FirstRunOptions {
  databaseUrl: string
  /** Whether a person reads the output; otherwise it may be stored in a log. */
  isTerminal: boolean
  env?: Env
}

/** The file with the first password and token, used if nobody reads the output. */
export const firstRunFile = (dataDir: string): string => resolve(dataDir, 'first-run.txt')

/** Creates the first admin with an organization, an agent and a token, each with its audit entry. */
async function createFirstAdmin(app: App, tx: Transaction, now: Date) {
  const { env } = app
  const agentId = 'first-agent'
  const password = env.KP_ADMIN_PASSWORD ?? oneTimePassword()
  const organisationId = await createOrganisation(tx, 'First organization', now)
  const ownerId = await createAccount(tx, {
    organisationId,
    email: env.KP_ADMIN_EMAIL,
    name: 'Administrator',
    role: 'admin',
    password,
    mustChangePassword: env.KP_ADMIN_PASSWORD === undefined,
    now,
  })
  await app.agents.issueAgent(tx, {
    agentId,
    name: 'First agent',
    ownerId,
    organisationId,
    tier: 'free',
    isConsentExplicit: false,
    now,
  })
  const token = await app.tokens.issue(tx, {
    agentId,
    scopes: ['read', 'write'],
    name: 'first run',
    expiresAt: new Date(now.getTime() + oneTimePasswordLife),
    now,
  })
  for (const [resourceType, resourceId] of [
    ['account', ownerId],
    ['agent', agentId],
    ['token', token.id],
  ] as const)
    await app.pipeline.auditWithin(tx, {
      action: 'create',
      actorId: 'system:first-run',
      resourceType,
      resourceId,
      at: now,
      ip: '',
      details: {},
    })
  return { password, agentId, key: token.key }
}
type FirstAdmin = Awaited<ReturnType<typeof createFirstAdmin>>

function credentialLines(env: Env, { password, agentId, key }: FirstAdmin): string[] {
  const elsewhere = publicUrl(env) === 'http://localhost:3000' ? '' : ` --url ${publicUrl(env)}`
  return [
    '',
    `  Sign in      ${env.KP_ADMIN_EMAIL}`,
    env.KP_ADMIN_PASSWORD === undefined
      ? `  Password     ${password}   (valid for 24 hours; you choose a new one when you first sign in)`
      : '  Password     the one in KP_ADMIN_PASSWORD',
    `  First token  ${key}   (${agentId}; read, write; for 24 hours; shown this once)`,
    '',
    '  Try it in a second terminal:',
    `  npm run --silent kp -- login ${key}${elsewhere}`,
    '  npm run --silent kp -- contribute docs/examples/trace.json',
    '',
  ]
}

/** Writes the lines to the file that only its owner can read. Returns lines that name the file. */
async function writeFirstRunFile(env: Env, lines: readonly string[]): Promise<string[]> {
  const file = firstRunFile(env.KP_DATA_DIR)
  await writeFile(file, `${lines.join('\n').trim()}\n`, { mode: 0o600, flush: true })
  // An existing file would keep its mode.
  await chmod(file, 0o600)
  return [
    '',
    `  Sign in      ${env.KP_ADMIN_EMAIL}`,
    `  The first password and the first token are in ${file}, which only this user can read.`,
    '  They expire after 24 hours. Delete the file after you have signed in.',
    '',
  ]
}

/**
 * If no account exists, creates the first admin with an organization, an agent and a token. Returns the lines to show to the operator;
 * none on later starts. Password and token expire after 24 hours. They are shown only on a terminal; otherwise they are in a file that
 * only its owner can read. Atomic: after a crash, the next start does it again.
 */
export async function firstRun({
  databaseUrl,
  isTerminal,
  env: given = readEnv(),
}: FirstRunOptions): Promise<string[]> {
  const env = { ...given, DATABASE_URL: databaseUrl }
  const app = createApp({ env })
  const now = new Date()
  try {
    return await app.db.transaction(async (tx) => {
      // Two replicas that start concurrently create only one admin.
      await lockFirstRun(tx, {})
      if ((await accountDirectory.count(tx)).accounts > 0) return []
      const lines = credentialLines(env, await createFirstAdmin(app, tx, now))
      return isTerminal ? lines : writeFirstRunFile(env, lines)
    })
  } finally {
    await app.close()
  }
}
