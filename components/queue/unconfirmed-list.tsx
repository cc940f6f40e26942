'use client'

import { useTranslations } from 'next-intl'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { forwardUnconfirmed, listUnconfirmed } from '#lib/domains/privacy-requests/form/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'

const forwardAt: Endpoint<typeof forwardUnconfirmed> = {
  method: 'post',
  path: '/api/admin/privacy/unconfirmed/{id}/link',
}
type Unconfirmed = Output<typeof listUnconfirmed>['data'][number]
type Forward = Output<typeof forwardUnconfirmed>['data']

/** The link that was made, to copy it, its message, or to open the message in the mail app. */
function MadeLink({ made }: { made: Forward }) {
  const t = useTranslations('queue.unconfirmed')
  const { email, link, subject, text, expires_at } = made
  return (
    <div className="grid basis-full gap-2" role="status">
      <p className="text-sm">{t.rich('made', { email, time: () => <Time at={expires_at} show="both" /> })}</p>
      <CodeBlock code={link} what={t('link')} />
      <div className="flex flex-wrap gap-2">
        <PlainButtonLink
          tone="plain"
          size="small"
          href={`mailto:${encodeURIComponent(email)}?${new URLSearchParams({ subject, body: text }).toString().replaceAll('+', '%20')}`}
        >
          {t('mail')}
        </PlainButtonLink>
        <Button tone="plain" size="small" onClick={() => void navigator.clipboard.writeText(`${subject}\n\n${text}`)}>
          {t('message')}
        </Button>
      </div>
    </div>
  )
}

function Item({ request }: { request: Unconfirmed }) {
  const t = useTranslations('queue.unconfirmed')
  const kinds = useTranslations('requestNames.kinds')
  const making = useApiMutation(forwardAt, { touches: ['/api/overview/waiting'], isQuiet: true })
  const { id, kind, name, email, sent_at, expires_at, is_forwarded } = request
  const made = making.data?.data
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 py-3">
      <span className="grid min-w-0 grow">
        <span className="font-medium [overflow-wrap:anywhere]">
          {kinds(kind)} · <bdi>{name ?? email}</bdi>
        </span>
        <span className="text-sm text-quiet [overflow-wrap:anywhere]">
          {name !== null && <bdi>{email}</bdi>} {t.rich('sent', { time: () => <Time at={sent_at} show="relative" /> })}
          {' · '}
          {t.rich(is_forwarded ? 'works' : 'expires', { time: () => <Time at={expires_at} show="relative" /> })}
        </span>
      </span>
      <Button
        tone={is_forwarded || made ? 'plain' : 'main'}
        size="small"
        aria-disabled={making.isPending}
        aria-label={t('copyNamed', { name: name ?? email })}
        onClick={() =>
          making.begin({ params: { id } }, ({ data: { link } }) => {
            // Without the permission to write to the clipboard, the link is there to copy.
            navigator.clipboard.writeText(link).catch(() => {})
          })
        }
      >
        {t('copy')}
      </Button>
      {making.problem && <ProblemAlert problem={making.problem} />}
      {made && <MadeLink made={made} />}
    </li>
  )
}

/** Requests from the form that wait for an admin, because no mail server sends the link that confirms them. */
export function UnconfirmedList({ requests }: { requests: readonly Unconfirmed[] }) {
  const t = useTranslations('queue.unconfirmed')
  if (requests.length === 0) return null
  return (
    <section id="unconfirmed" className="grid gap-1 rounded-box border border-line bg-raised p-4">
      <h2 className="flex items-center gap-2 font-semibold">
        {t('title')}
        <Badge tone="warning">{requests.length}</Badge>
      </h2>
      <p className="text-sm text-quiet">{t('lead')}</p>
      <ul className="divide-y divide-line">
        {requests.map((request) => (
          <Item key={request.id} request={request} />
        ))}
      </ul>
    </section>
  )
}
