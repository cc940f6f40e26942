import { seal, unsealed } from '#lib/config/secret.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { endSessions } from '../account-status.ts'
import { lockAccount } from '../links.ts'
import { accountOf } from '../own-account.ts'
import { countTry } from '../passwords.ts'
import type { AccountsDeps } from '../ports.ts'
import { passwordChecksPerMinute } from '../rules.ts'
import { enqueueNotice } from '../writes.ts'
import {
  addPasskey,
  addTotp,
  confirmTotp,
  type FactorView,
  listFactors,
  removeFactor,
  renewRecoveryCodes,
  startPasskey,
  startPasskeySignIn,
} from './contract.ts'
import { registeredPasskey, registrationOptions, type StoredPasskey, signInOptions } from './passkeys.ts'
import { keepLastFactor } from './requirement.ts'
import { confirmationLife, maxFactors } from './rules.ts'
import { newTotpSecret, replaceRecoveryCodes, stepOfCode } from './verification.ts'

const confirmed = { confirmedAt: { not: null } } as const

/**
 * Locks the account of the caller, so that concurrent requests see each other's factors.
 * @throws Problem `wrong_state` without a password: such a person signs in with an identity provider, which asks for its own factors
 * @throws Problem `conflict` at the limit of factors
 */
async function lockForNewFactor(ctx: Pick<MutationContext, 'tx' | 'actor'>): Promise<string> {
  const accountId = accountOf(ctx)
  await lockAccount(ctx.tx, accountId)
  const account = await ctx.tx.account.findUnique({ where: { id: accountId }, select: { passwordHash: true } })
  if (!account) throw new Problem('sign_in_needed')
  if (account.passwordHash === null)
    throw new Problem(
      'wrong_state',
      'This account has no password. It signs in with the identity provider, which can ask for a second factor. Nothing was changed.',
    )
  if ((await ctx.tx.accountFactor.count({ where: { accountId, ...confirmed } })) >= maxFactors)
    throw new Problem('conflict', `An account can have at most ${maxFactors} second factors. Remove one first.`)
  return accountId
}

/**
 * The guard of changes to second factors. Unless one was removed, ends all other sessions, because they did not show the factors that the
 * account has now. Sends the person an email. Tokens that these sessions created no longer prove that the person agrees.
 */
async function afterChange(
  { tx, actor, now }: MutationContext,
  { requireOwner }: Pick<AccountsDeps, 'requireOwner'>,
  accountId: string,
  change: 'added' | 'removed' | 'codes-renewed',
): Promise<void> {
  if (change !== 'removed') await endSessions(tx, accountId, now, actor.sessionId)
  await requireOwner(tx, accountId)
  await enqueueNotice(tx, { kind: 'second-factor', change, accountId, at: now })
}

/** Recovery codes for the first second factor; undefined for further ones. */
async function codesForFirst(tx: Transaction, accountId: string, now: Date): Promise<string[] | undefined> {
  return (await tx.accountFactor.count({ where: { accountId, ...confirmed } })) === 1
    ? replaceRecoveryCodes(tx, accountId, now)
    : undefined
}

const list = (db: Database) =>
  read(listFactors, async (ctx) => {
    const accountId = accountOf(ctx)
    const [factors, codes] = await Promise.all([
      db.prisma.accountFactor.findMany({ where: { accountId, ...confirmed }, orderBy: { createdAt: 'asc' } }),
      db.prisma.accountRecoveryCode.count({ where: { accountId, usedAt: null } }),
    ])
    const views = factors.map(
      ({ id, kind, name, createdAt, lastUsedAt }): FactorView => ({
        factor_id: id,
        kind,
        name,
        created_at: createdAt,
        last_used_at: lastUsedAt,
      }),
    )
    return { resourceId: accountId, body: { data: { factors: views, recovery_codes: codes } } }
  })

const startTotp = ({ totpKey, party }: AccountsDeps) =>
  mutation(addTotp, async (ctx, { body: { name } }) => {
    const accountId = await lockForNewFactor(ctx)
    const { email } = await ctx.tx.account.findUniqueOrThrow({ where: { id: accountId }, select: { email: true } })
    const { secret, base32, uri } = await newTotpSecret({
      issuer: `KnowledgePulse (${new URL(party.origin).host})`,
      email,
    })
    const id = newId('fct')
    // One app at a time waits for its first code.
    await ctx.tx.accountFactor.deleteMany({ where: { accountId, confirmedAt: null } })
    await ctx.tx.accountFactor.create({
      data: {
        id,
        accountId,
        kind: 'totp',
        name,
        createdAt: ctx.now,
        totpSecret: new Uint8Array(seal(totpKey(), secret, id)),
      },
    })
    return {
      resourceId: accountId,
      body: { data: { factor_id: id, secret: base32, uri } },
      details: { factor: id, changed: [] },
    }
  })

const confirm = (deps: AccountsDeps) =>
  mutation(confirmTotp, async (ctx, { params: { id }, body: { code } }) => {
    const accountId = accountOf(ctx)
    // Not the attempts of the step-up: wrong codes of a new app must not keep the owner from confirming the password.
    await countTry(deps.tries, [{ key: `new-app:${accountId}`, limit: passwordChecksPerMinute }])
    await lockAccount(ctx.tx, accountId)
    const waiting = await ctx.tx.accountFactor.findUnique({
      where: {
        id,
        accountId,
        kind: 'totp',
        confirmedAt: null,
        createdAt: { gt: new Date(ctx.now.getTime() - confirmationLife) },
      },
      select: { totpSecret: true },
    })
    if (!waiting?.totpSecret)
      throw new Problem('not_found', 'No authenticator app with this id waits for confirmation. Add it again.')
    const secret = unsealed(deps.totpKey(), waiting.totpSecret, id)
    const step = secret && (await stepOfCode(secret, code.replace(/\s/g, ''), ctx.now))
    if (step === undefined)
      throw invalid(['code'], 'is not the present code of the app. Check that the clock of the phone is right.')
    await ctx.tx.accountFactor.update({ where: { id }, data: { confirmedAt: ctx.now, lastTotpStep: step } })
    const codes = await codesForFirst(ctx.tx, accountId, ctx.now)
    await afterChange(ctx, deps, accountId, 'added')
    return {
      resourceId: accountId,
      body: { data: { recovery_codes: codes } },
      details: { factor: id, changed: ['factors'] },
    }
  })

async function passkeysOf(tx: Transaction, accountId: string): Promise<StoredPasskey[]> {
  const rows = await tx.accountFactor.findMany({ where: { accountId, kind: 'passkey' } })
  return rows.flatMap(({ credentialId, publicKey, signatureCount, transports }) =>
    credentialId && publicKey ? [{ credentialId, publicKey, signatureCount: signatureCount ?? 0n, transports }] : [],
  )
}

const beginPasskey = ({ challenges, party }: AccountsDeps) =>
  mutation(startPasskey, async (ctx) => {
    const accountId = await lockForNewFactor(ctx)
    const account = await ctx.tx.account.findUniqueOrThrow({
      where: { id: accountId },
      select: { id: true, email: true, name: true },
    })
    const options = await registrationOptions(party, {
      account,
      challenge: challenges.issue({ registration: accountId }, ctx.now),
      existing: await passkeysOf(ctx.tx, accountId),
    })
    return { resourceId: accountId, body: { data: options }, details: { changed: [] } }
  })

const finishPasskey = (deps: AccountsDeps) =>
  mutation(addPasskey, async (ctx, { body: { name, response } }) => {
    const accountId = await lockForNewFactor(ctx)
    const passkey = await registeredPasskey(
      deps.party,
      response,
      (challenge) => deps.challenges.issuedAt(challenge, { registration: accountId }, ctx.now) !== undefined,
    )
    if (!passkey) throw invalid(['response'], 'is not a valid response for this account. Start again.')
    const id = newId('fct')
    const { count } = await ctx.tx.accountFactor.createMany({
      data: { ...passkey, id, accountId, kind: 'passkey', name, createdAt: ctx.now, confirmedAt: ctx.now },
      skipDuplicates: true,
    })
    if (count === 0) throw new Problem('conflict', 'This passkey is already registered. Nothing was changed.')
    const codes = await codesForFirst(ctx.tx, accountId, ctx.now)
    await afterChange(ctx, deps, accountId, 'added')
    return {
      resourceId: accountId,
      body: { data: { factor_id: id, recovery_codes: codes } },
      details: { factor: id, changed: ['factors'] },
    }
  })

const remove = (deps: Pick<AccountsDeps, 'factorPolicy' | 'requireOwner'>) =>
  mutation(removeFactor, async (ctx, { params: { id } }) => {
    const accountId = accountOf(ctx)
    await lockAccount(ctx.tx, accountId)
    const { count } = await ctx.tx.accountFactor.deleteMany({ where: { id, accountId, ...confirmed } })
    if (count === 0) throw new Problem('not_found', 'You have no second factor with this id.')
    const left = await ctx.tx.accountFactor.count({ where: { accountId, ...confirmed } })
    await keepLastFactor(ctx.tx, deps, { accountId, left, now: ctx.now })
    if (left === 0) await ctx.tx.accountRecoveryCode.deleteMany({ where: { accountId } })
    await afterChange(ctx, deps, accountId, 'removed')
    return { resourceId: accountId, body: undefined, details: { factor: id, changed: ['factors'] } }
  })

const renewCodes = (deps: Pick<AccountsDeps, 'requireOwner'>) =>
  mutation(renewRecoveryCodes, async (ctx) => {
    const accountId = accountOf(ctx)
    await lockAccount(ctx.tx, accountId)
    if ((await ctx.tx.accountFactor.count({ where: { accountId, ...confirmed } })) === 0)
      throw new Problem('wrong_state', 'You have no second factor, so you need no recovery codes.')
    const codes = await replaceRecoveryCodes(ctx.tx, accountId, ctx.now)
    await afterChange(ctx, deps, accountId, 'codes-renewed')
    return {
      resourceId: accountId,
      body: { data: { recovery_codes: codes } },
      details: { changed: ['recovery_codes'] },
    }
  })

/** Removes every second factor and recovery code of an account. Returns the number of factors. */
export async function dropFactors(tx: Transaction, accountId: string): Promise<number> {
  const { count } = await tx.accountFactor.deleteMany({ where: { accountId } })
  await tx.accountRecoveryCode.deleteMany({ where: { accountId } })
  await tx.account.updateMany({ where: { id: accountId }, data: { wrongCodes: 0, wrongCodeAt: null } })
  return count
}

/** Use cases of people for their own second factors, and the start of a sign-in with a passkey. */
export const ownFactors = (db: Database, deps: AccountsDeps) => ({
  factors: list(db),
  addTotp: startTotp(deps),
  confirmTotp: confirm(deps),
  startPasskey: beginPasskey(deps),
  addPasskey: finishPasskey(deps),
  removeFactor: remove(deps),
  renewRecoveryCodes: renewCodes(deps),
  startPasskeySignIn: read(startPasskeySignIn, async ({ now }) => ({
    resourceId: '',
    body: { data: await signInOptions(deps.party, deps.challenges.issue('sign-in', now)) },
  })),
})
