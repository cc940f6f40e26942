'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { FactList } from '#components/ui/facts.tsx'
import { ShortId } from '#components/ui/short-id.tsx'
import { Tag } from '#components/ui/tag.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { DueStatusTag } from './due-tag.tsx'
import type { AdminRequestDetail } from './endpoints.ts'
import { useRequestWords } from './request-words.tsx'

const ways = ['password', 'link', 'token', 'admin', 'manager'] as const

export function RequestFacts({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.facts')
  const queue = useTranslations('queue')
  const words = useRequestWords()
  const { account_id, agent_id, subject_email, verified_at, verified_by, grace, closed_at } = request
  const way = ways.find((one) => one === verified_by)
  const isErased = account_id === null && agent_id === null
  const facts: [string, ReactNode][] = [
    [
      t('about'),
      isErased ? (
        t('erased')
      ) : (
        <TextLink key="about" href={account_id === null ? `/admin/tokens/${agent_id}` : `/admin/users/${account_id}`}>
          {words.subject(request)}
        </TextLink>
      ),
    ],
    ...(account_id === null
      ? []
      : [[t('account'), <ShortId key="a" id={account_id} what={t('account')} />] as [string, ReactNode]]),
    ...(agent_id === null
      ? []
      : [[t('agent'), <ShortId key="g" id={agent_id} what={t('agent')} />] as [string, ReactNode]]),
    ...(subject_email === null ? [] : [[t('email'), subject_email] as [string, ReactNode]]),
    [t('id'), <ShortId key="id" id={request.id} what={t('id')} />],
    [t('channel'), queue(`channels.${request.channel}`)],
    ...(request.filed_by === null
      ? []
      : [[t('filedBy'), <ShortId key="f" id={request.filed_by} what={t('filedBy')} />] as [string, ReactNode]]),
    [t('received'), <Time key="r" at={request.received_at} relative />],
    [
      t('verified'),
      verified_at === null
        ? t('notVerified')
        : t.rich('verifiedBy', {
            time: () => <Time at={verified_at} />,
            way: way ? t(`ways.${way}`) : (verified_by ?? ''),
          }),
    ],
    ...(grace === null ? [] : [[t('grace'), queue(`graces.${grace}`)] as [string, ReactNode]]),
    ...(request.redact ? [[t('redact'), t('redactText')] as [string, ReactNode]] : []),
    [t('assigned'), request.assigned_name ?? queue('nobody')],
    ...(closed_at === null ? [] : [[t('closed'), <Time key="c" at={closed_at} />] as [string, ReactNode]]),
  ]
  return <FactList facts={facts} />
}

/** Our limit and the legal limit: dates, and the time until the earlier one. */
export function AdminRequestClocks({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.clocks')
  const { due_at, legal_due_at, due, extended, paused } = request
  return (
    <div className="grid gap-3">
      <p>
        <DueStatusTag request={request} />
      </p>
      {due === 'stopped' && <p className="text-quiet">{t('stopped')}</p>}
      {paused && <p className="text-amber">{t.rich('paused', { time: () => <Time at={paused.since} relative /> })}</p>}
      <dl className="grid gap-3 sm:grid-cols-2">
        <div className="grid content-start gap-1 rounded-box border border-line bg-raised p-3">
          <dt className="font-medium">{t('ours')}</dt>
          <dd className="grid gap-1">
            {due_at === null ? t('oursNone') : <Time at={due_at} relative={due !== 'stopped'} />}
            <span className="text-sm text-quiet">{t('oursText')}</span>
          </dd>
        </div>
        <div className="grid content-start gap-1 rounded-box border border-line bg-raised p-3">
          <dt className="font-medium">{t('legal')}</dt>
          <dd className="grid gap-1">
            <Time at={legal_due_at} relative={due !== 'stopped'} />
            <span className="text-sm text-quiet">{t(extended ? 'legalExtended' : 'legalText')}</span>
          </dd>
        </div>
      </dl>
    </div>
  )
}

const tones = {
  pending: 'plain',
  running: 'accent',
  done: 'accent',
  partly_done: 'amber',
  refused: 'plain',
  cancelled: 'plain',
  failed: 'red',
} as const
const copies = ['ready', 'fetched', 'gone', 'failed'] as const

export function AdminRequestParts({ request }: { request: AdminRequestDetail }) {
  const t = useTranslations('adminRequest.parts')
  const queue = useTranslations('queue.kinds')
  return (
    <ul aria-label={t('title')} className="divide-y divide-line border-y border-line">
      {request.parts.map(({ kind, state, outcome }) => {
        const copy = copies.find((one) => one === outcome.copy)
        const said = [
          state === 'running' && outcome.waits_for === 'admin' && t('waitsAdmin'),
          state === 'running' && outcome.waits_for === 'address' && t('waitsAddress'),
          copy && t(`copy.${copy}`),
          typeof outcome.records === 'number' && t('records', { count: outcome.records }),
          typeof outcome.erased === 'number' && t('erased', { count: outcome.erased }),
          typeof outcome.held === 'number' && outcome.held > 0 && t('held', { count: outcome.held }),
        ].filter((one) => typeof one === 'string')
        return (
          <li key={kind} className="flex flex-wrap items-baseline gap-x-3 gap-y-1 py-2">
            <span className="font-medium">{queue(kind)}</span>
            <Tag tone={tones[state]}>{t(`states.${state}`)}</Tag>
            {said.length > 0 && <span className="text-sm text-quiet">{said.join(' · ')}</span>}
          </li>
        )
      })}
    </ul>
  )
}
