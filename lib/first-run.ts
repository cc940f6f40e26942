import { createApp } from './app.ts'
import { oneTimePassword } from './domains/accounts/passwords.ts'
import { createAccount, createOrganisation } from './domains/accounts/service.ts'
import { publicUrl, readEnv } from './env.ts'

/**
 * Makes the first admin with an organisation, an agent and a token, when there is no account at all. Returns the lines that the
 * operator has to see, once; none on later starts. All or nothing: a crash in between leaves it to the next start.
 */
export async function firstRun({ databaseUrl }: { databaseUrl: string }): Promise<string[]> {
  const env = { ...readEnv(), DATABASE_URL: databaseUrl }
  const app = createApp({ env })
  const now = new Date()
  const elsewhere = publicUrl(env) === 'http://localhost:3000' ? '' : ` --url ${publicUrl(env)}`
  try {
    return await app.db.transaction(async (tx) => {
      // Two replicas that start at once make one admin.
      await tx.$queryRaw`SELECT 1 AS locked FROM (SELECT pg_advisory_xact_lock(hashtext('first-run'))) AS l`
      if ((await tx.account.count()) > 0) return []
      const password = env.KP_ADMIN_PASSWORD ?? oneTimePassword()
      const organisationId = await createOrganisation(tx, 'First organisation', now)
      const ownerId = await createAccount(tx, {
        organisationId,
        email: env.KP_ADMIN_EMAIL,
        name: 'Administrator',
        role: 'admin',
        password,
        mustChangePassword: env.KP_ADMIN_PASSWORD === undefined,
        now,
      })
      const agentId = 'first-agent'
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
        expiresAt: null,
        now,
      })
      for (const [resourceType, resourceId] of [
        ['account', ownerId],
        ['agent', agentId],
        ['token', token.id],
      ] as const)
        await app.gate.auditWithin(tx, {
          action: 'create',
          actorId: 'system:first-run',
          resourceType,
          resourceId,
          at: now,
          ip: '',
          details: {},
        })
      return [
        '',
        `  Sign in      ${env.KP_ADMIN_EMAIL}`,
        env.KP_ADMIN_PASSWORD === undefined
          ? `  Password     ${password}   (until you choose your own, at the first sign-in)`
          : '  Password     the one in KP_ADMIN_PASSWORD',
        `  First token  ${token.key}   (${agentId}; read, write; shown this once)`,
        '',
        '  Try it, in a second terminal:',
        `  npm run --silent kp -- login ${token.key}${elsewhere}`,
        '  npm run --silent kp -- contribute docs/examples/trace.json',
        '',
      ]
    })
  } finally {
    await app.close()
  }
}
