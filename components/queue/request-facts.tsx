'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CopyableId } from '#components/ui/copyable-id.tsx'
import { FactList } from '#components/ui/facts.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { AdminRequestDetail } from './endpoints.ts'
import { useRequestWords } from './request-words.tsx'

const ways = ['password', 'link', 'token', 'admin', 'manager'] as const

type Fact = readonly [name: string, value: ReactNode]
const Id = ({ id, what }: { id: string; what: string }) => <CopyableId id={id} what={what} longest={18} />

/** Who asks, and how their identity was confirmed. */
function useSubjectFacts(request: AdminRequestDetail): Fact[] {
  const t = useTranslations('adminRequest.facts')
  const words = useRequestWords()
  const { account_id, agent_id, subject_email, verified_at, verified_by } = request
  const way = ways.find((one) => one === verified_by)
  const page =
    account_id !== null ? `/admin/users/${account_id}` : agent_id !== null ? `/admin/tokens/${agent_id}` : null
  return [
    [
      t('about'),
      page === null && request.participant_id === null && subject_email === null ? (
        t('erased')
      ) : page === null ? (
        words.subject(request)
      ) : (
        <TextLink key="s" href={page}>
          {words.subject(request)}
        </TextLink>
      ),
    ],
    ...(subject_email === null ? [] : [[t('email'), subject_email] as const]),
    ...(account_id === null ? [] : [[t('account'), <Id key="a" id={account_id} what={t('account')} />] as const]),
    ...(agent_id === null ? [] : [[t('agent'), <Id key="g" id={agent_id} what={t('agent')} />] as const]),
    [
      t('verified'),
      verified_at === null
        ? t(request.channel === 'form' && account_id === null ? 'addressOnly' : 'notVerified')
        : t.rich('verifiedBy', {
            time: () => <Time at={verified_at} />,
            way: way ? t(`ways.${way}`) : (verified_by ?? ''),
          }),
    ],
  ]
}

/** How and when the request came, and who handles it. */
function useHandlingFacts(request: AdminRequestDetail): Fact[] {
  const t = useTranslations('adminRequest.facts')
  const queue = useTranslations('queue')
  const { assigned_to, assigned_name, filed_by, filed_by_name, closed_at, grace } = request
  return [
    [t('received'), <Time key="r" at={request.received_at} show="both" />],
    [t('channel'), queue(`channels.${request.channel}`)],
    ...(filed_by === null || filed_by === `user:${request.account_id}`
      ? []
      : [[t('filedBy'), filed_by_name ?? <Id key="f" id={filed_by} what={t('filedBy')} />] as const]),
    ...(grace === null ? [] : [[t('grace'), queue(`graces.${grace}`)] as const]),
    ...(request.redact ? [[t('redact'), t('redactText')] as const] : []),
    [t('assigned'), assigned_to === null ? queue('assignee.none') : (assigned_name ?? queue('formerAdmin'))],
    ...(closed_at === null ? [] : [[t('closed'), <Time key="c" at={closed_at} />] as const]),
    [t('id'), <Id key="id" id={request.id} what={t('id')} />],
  ]
}

export const RequestFacts = ({ request }: { request: AdminRequestDetail }) => (
  <FactList facts={[...useSubjectFacts(request), ...useHandlingFacts(request)]} />
)
