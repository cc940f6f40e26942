import { checkFiling, fileRequestIn, requestLink } from '#lib/domains/privacy-requests/filing/filing.ts'
import type { About } from '#lib/domains/privacy-requests/filing/joining.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { receivedAtMost } from '#lib/domains/privacy-requests/rules.ts'
import { workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { fileForSubject } from './contract.ts'
import { replyToAdmin } from './replies.ts'

/** @throws Problem `not_found` for an unknown agent, account or address */
async function subjectOf(
  { agents, people }: Pick<PrivacyDeps, 'agents' | 'people'>,
  { tx }: MutationContext,
  body: Input<typeof fileForSubject>['body'],
): Promise<About> {
  if (body.agent_id !== undefined) {
    if ((await agents.ownerOf(tx, body.agent_id)) === undefined)
      throw new Problem('not_found', 'There is no such agent.')
    return { agent: body.agent_id }
  }
  const found =
    body.email !== undefined
      ? await people.byEmail(tx, body.email)
      : body.account_id !== undefined
        ? await people.byId(tx, body.account_id)
        : undefined
  if (!found) throw new Problem('not_found', 'No account has this id or address.')
  return { account: found.accountId }
}

/** Files a request that a person or the owner of an agent sent to the controller, for example by mail. */
export const fileForRequester = (deps: PrivacyDeps) =>
  mutation(fileForSubject, async (ctx, { body }) => {
    checkFiling(body, body.agent_id !== undefined)
    if (body.received_at > ctx.now) throw invalid(['received_at'], 'is in the future')
    if (ctx.now.getTime() - body.received_at.getTime() > receivedAtMost)
      throw invalid(['received_at'], 'is more than 60 days ago')
    const work = workOf(ctx, 'admin')
    const filed = await fileRequestIn(deps, work, {
      about: await subjectOf(deps, ctx, body),
      kinds: body.kinds,
      channel: 'mail',
      filedBy: ctx.actor.id,
      receivedAt: body.received_at,
      isProven: false,
      grace: body.grace,
      redacts: body.redact,
      ...(body.statement !== undefined && { statement: plainTextPhrases(body.statement, 'statement', deps.strict) }),
    })
    if (filed.isNew && filed.row.contact !== null) await requestLink(work, filed.row, 'verify')
    const reply = await replyToAdmin(deps, ctx, work, filed.row)
    return {
      ...reply,
      body: { ...reply.body, joined: filed.joined },
      status: filed.isNew ? 201 : 200,
      headers: { Location: `/api/admin/privacy/requests/${filed.row.id}` },
    }
  })
