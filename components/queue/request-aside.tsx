'use client'

import { useTranslations } from 'next-intl'
import { CopyLink } from '#components/ui/copy-link.tsx'
import { Card } from '#components/ui/page.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AdminRequestDetail } from './endpoints.ts'
import { RequestFacts } from './request-facts.tsx'

/** Our deadline and the legal deadline. */
function Deadlines({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.clocks')
  const { due_at, legal_due_at, due, extended, paused } = request
  const show = due === 'stopped' ? 'exact' : 'both'
  return (
    <>
      <dl className="grid gap-3">
        <div>
          <dt className="text-sm text-quiet">{t('legal')}</dt>
          <dd>
            <Time at={legal_due_at} show={show} />
          </dd>
          <dd className="text-sm text-quiet">{t(extended ? 'legalExtended' : 'legalText')}</dd>
        </div>
        <div>
          <dt className="text-sm text-quiet">{t('ours')}</dt>
          <dd>{due_at === null ? t('oursNone') : <Time at={due_at} show={show} />}</dd>
          <dd className="text-sm text-quiet">{t('oursText')}</dd>
        </div>
      </dl>
      {paused && (
        <p className="text-sm text-amber">
          {t.rich('paused', { time: () => <Time at={paused.since} show="relative" /> })}
        </p>
      )}
    </>
  )
}

function Evidence({ request: { id, kinds, erasure } }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.proof')
  return (
    <ul className="grid gap-1">
      {kinds.includes('erasure') && (
        <li>
          {erasure?.receipt_id ? (
            <TextLink href={`/receipts/${erasure.receipt_id}`}>{t('receipt')}</TextLink>
          ) : (
            <span className="text-quiet">{t('receiptLater')}</span>
          )}
        </li>
      )}
      <li>
        <TextLink href={`/admin/audit?resource_id=${id}&reads=true`}>{t('audit')}</TextLink>
      </li>
    </ul>
  )
}

function Holds({ holds }: { holds: readonly string[] }) {
  const t = useTranslations('adminRequest')
  return (
    <>
      <p className="text-sm text-quiet">{t('holds.text')}</p>
      <ul className="grid gap-1">
        {holds.map((hold) => (
          <li key={hold}>
            <TextLink href={`/admin/holds?q=${hold}`} className="font-mono text-[0.8125rem] wrap-anywhere">
              {hold}
            </TextLink>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The facts beside a request. */
export function RequestAside({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest')
  return (
    <>
      <Card title={t('clocks.title')}>
        <Deadlines request={request} />
      </Card>
      <Card title={t('facts.title')}>
        <RequestFacts request={request} />
      </Card>
      {request.holds.length > 0 && (
        <Card title={t('holds.title')}>
          <Holds holds={request.holds} />
        </Card>
      )}
      <Card title={t('proof.title')}>
        <Evidence request={request} />
        <p>
          <CopyLink />
        </p>
      </Card>
    </>
  )
}
