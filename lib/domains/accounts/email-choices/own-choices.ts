import { accountOf } from '#lib/domains/accounts/own-account.ts'
import { adminAccounts } from '#lib/domains/accounts/repository.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chooseEmail, type EmailChoiceView, listEmailChoices, readUnsubscription, unsubscribe } from './contract.ts'
import { choiceOf } from './optional-emails.ts'
import { storeChoice } from './repository.ts'
import { type EmailDelivery, type EmailKind, emailKindRules, emailKinds } from './rules.ts'
import type { UnsubscribeLinks, UnsubscribeTarget } from './unsubscribe-links.ts'

export interface EmailChoiceDeps {
  unsubscribeLinks: UnsubscribeLinks
}

async function viewOf(on: Transaction, accountId: string, kind: EmailKind): Promise<EmailChoiceView> {
  const { delivery, isOnlyReceiver } = await choiceOf(on, accountId, kind)
  return { kind, delivery, choices: [...emailKindRules[kind].choices], is_only_receiver: isOnlyReceiver }
}

/** The kinds of email that the account can get. */
async function kindsOf(on: Transaction, accountId: string): Promise<EmailKind[]> {
  const account = await on.account.findUnique({ where: { id: accountId }, select: { role: true } })
  if (!account) return []
  return emailKinds.filter((kind) => !emailKindRules[kind].isForAdmins || account.role === 'admin')
}

/** Locks all admins before one of them turns off a kind that somebody must get, so that two cannot do so at once. */
async function lockReceivers(tx: Transaction, kinds: readonly EmailKind[]): Promise<void> {
  if (kinds.some((kind) => emailKindRules[kind].needsReceiver)) await adminAccounts(tx, {}, 'lock')
}

const store = (tx: Transaction, account: string, change: { kind: EmailKind; delivery: EmailDelivery; now: Date }) =>
  storeChoice(tx, { id: newId('emc'), account, ...change })

const onlyReceiver = () =>
  new Problem(
    'conflict',
    'Nobody else gets these emails, and at least one admin must. Another admin has to turn them on first. Nothing was changed.',
  )
const noSuchLink = () =>
  new Problem('not_found', 'This link is not valid, or the account no longer exists. Nothing was changed.')

const choose = () =>
  mutation(chooseEmail, async ({ tx, now, actor }, { params: { kind }, body: { delivery } }) => {
    const account = accountOf({ actor })
    if (!(await kindsOf(tx, account)).includes(kind))
      throw new Problem('not_found', 'Your account gets no emails of this kind.')
    if (!emailKindRules[kind].choices.includes(delivery))
      throw invalid(['delivery'], `must be one of ${emailKindRules[kind].choices.join(', ')}`)
    if (delivery === 'never') {
      await lockReceivers(tx, [kind])
      if ((await choiceOf(tx, account, kind)).isOnlyReceiver) throw onlyReceiver()
    }
    await store(tx, account, { kind, delivery, now })
    return {
      resourceId: account,
      body: { data: await viewOf(tx, account, kind) },
      details: { changed: ['emails'], kind, to: delivery },
    }
  })

async function targetOf(on: Transaction, links: UnsubscribeLinks, token: string): Promise<UnsubscribeTarget> {
  const target = links.targetOf(token)
  if (!target || (await on.account.count({ where: { id: target.accountId } })) === 0) throw noSuchLink()
  return target
}
async function areOff(on: Transaction, { accountId, kinds }: UnsubscribeTarget): Promise<boolean> {
  const choices = await Promise.all(kinds.map((kind) => choiceOf(on, accountId, kind)))
  return choices.every(({ chosen }) => chosen === 'never')
}

const turnOff = ({ unsubscribeLinks }: EmailChoiceDeps) =>
  mutation(unsubscribe, async ({ tx, now }, { query: { token } }) => {
    const target = await targetOf(tx, unsubscribeLinks, token)
    const { accountId, kinds } = target
    await lockReceivers(tx, kinds)
    const turnedOff: EmailKind[] = []
    for (const kind of kinds) {
      const { isOnlyReceiver, chosen } = await choiceOf(tx, accountId, kind)
      if (isOnlyReceiver || chosen === 'never') continue
      await store(tx, accountId, { kind, delivery: 'never', now })
      turnedOff.push(kind)
    }
    const isOff = await areOff(tx, target)
    if (!isOff && turnedOff.length === 0) throw onlyReceiver()
    return {
      resourceId: accountId,
      body: { data: { kinds, is_off: isOff } },
      details: { changed: turnedOff.length > 0 ? ['emails'] : [], kinds: turnedOff, to: 'never' },
    }
  })

/** Use cases of people for the emails that they get. */
export const ownEmailChoices = (db: Database, deps: EmailChoiceDeps) => ({
  emailChoices: read(listEmailChoices, async (ctx) => {
    const account = accountOf(ctx)
    const kinds = await kindsOf(db.prisma, account)
    return {
      resourceId: account,
      body: { data: await Promise.all(kinds.map((kind) => viewOf(db.prisma, account, kind))) },
    }
  }),
  chooseEmail: choose(),
  readUnsubscription: read(readUnsubscription, async (_ctx, { query: { token } }) => {
    const target = await targetOf(db.prisma, deps.unsubscribeLinks, token)
    return { resourceId: '', body: { data: { kinds: target.kinds, is_off: await areOff(db.prisma, target) } } }
  }),
  unsubscribe: turnOff(deps),
})
