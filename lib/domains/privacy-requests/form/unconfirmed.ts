import { randomBytes } from 'node:crypto'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { unconfirmedForms } from '#lib/domains/privacy-requests/queries.ts'
import { unconfirmedLifetime, unforwardedLifetime } from '#lib/domains/privacy-requests/rules.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { base62 } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { forwardUnconfirmed, listUnconfirmed } from './contract.ts'
import { confirmFormEmail } from './jobs.ts'
import { openForm } from './service.ts'

/** Makes a new link, because only the hash of the last one is stored. Its 24 hours begin now. */
async function renewLink({ form, origin }: PrivacyDeps, { tx, now }: MutationContext, id: string) {
  if (!form.isForwardedByHand)
    throw new Problem('conflict', 'A mail server sends these links. Only the person with the address gets one.')
  const token = base62(randomBytes(32), 43)
  const expiresAt = new Date(now.getTime() + unconfirmedLifetime)
  const { count } = await tx.unconfirmedRequest.updateMany({
    where: { id, usedAt: null, expiresAt: { gt: now }, content: { not: null } },
    data: { hash: hashOf(token), emailedAt: now, expiresAt },
  })
  const record = await tx.unconfirmedRequest.findUnique({ where: { id } })
  if (count === 0 || !record?.content)
    throw new Problem('not_found', 'This request was confirmed, or it has expired. Reload the list.')
  const { email, locale, kind } = openForm(form.key(), id, record.content)
  const link = `${origin}/request/confirm#${token}`
  const { subject, text } = confirmFormEmail(locale, { origin, link, kind, sentAt: record.createdAt })
  return { email, link, subject, text, expires_at: expiresAt.toISOString() }
}

/** Without a mail server: the requests from the form whose link nobody has confirmed, and the links to forward. */
export const unconfirmedRequests = (deps: PrivacyDeps) => ({
  unconfirmed: read(listUnconfirmed, async ({ now }) => {
    const rows = deps.form.isForwardedByHand ? await unconfirmedForms(deps.db.prisma, now) : []
    const data = rows.map(({ id, content, createdAt, expiresAt }) => {
      const { kind, name, email } = openForm(deps.form.key(), id, content ?? new Uint8Array())
      return {
        id,
        kind,
        name: name ?? null,
        email,
        sent_at: createdAt.toISOString(),
        expires_at: expiresAt.toISOString(),
        is_forwarded: expiresAt.getTime() !== createdAt.getTime() + unforwardedLifetime,
      }
    })
    return { body: { data }, resourceId: 'list', details: { count: data.length } }
  }),
  forwardUnconfirmed: mutation(
    forwardUnconfirmed,
    async (ctx, { params: { id } }) => ({
      body: { data: await renewLink(deps, ctx, id) },
      resourceId: id,
      details: { event: 'forwarded' },
    }),
    (ctx, { params: { id } }) => renewLink(deps, ctx, id),
  ),
})
