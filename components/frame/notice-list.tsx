'use client'

import { useTranslations } from 'next-intl'
import { addressesToConfirmPage } from '#components/participants/addresses-page.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { markNotices, readNotices } from '#lib/domains/console/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { useApiMutation, useApiQuery } from './api-query.ts'
import { waitingAt } from './endpoints.ts'

const noticesAt: Endpoint<typeof readNotices> = { method: 'get', path: '/api/notifications' }
const readAt: Endpoint<typeof markNotices> = { method: 'put', path: '/api/notifications/read' }
type Notice = Output<typeof readNotices>['data'][number]

/** The page where the reader can do something about it. */
function hrefOf({ kind, resource_id }: Notice): string {
  switch (kind) {
    case 'stuck':
      return `/admin/erasures/${resource_id}`
    case 'unconfirmed':
      return '/admin/requests#unconfirmed'
    case 'approval':
      return '/admin/approvals'
    case 'address':
      return addressesToConfirmPage(resource_id)
    default:
      return `/admin/requests/${resource_id}`
  }
}

/** What needs the reader, one sentence each, the most urgent first. Opening one marks it as read, on every device. */
export function NoticeList({ onLeave }: { onLeave: () => void }) {
  const t = useTranslations('frame.notices')
  const { data, problem } = useApiQuery(noticesAt)
  const marking = useApiMutation(readAt, { touches: [noticesAt.path, waitingAt.path], isQuiet: true })
  const notices = data?.data ?? []
  const unread = notices.filter(({ is_read }) => !is_read)
  const mark = (read: readonly Notice[]) => {
    if (read.length > 0) marking.begin({ body: { ids: read.map(({ id }) => id) } })
  }
  if (problem) return <ProblemAlert problem={problem} />
  if (!data) return <Skeleton className="h-24" />
  if (notices.length === 0) return <p className="text-quiet">{t('none')}</p>
  return (
    <div className="grid gap-3">
      {marking.problem && <ProblemAlert problem={marking.problem} />}
      {unread.length > 0 && (
        <p className="flex justify-end">
          <Button tone="plain" size="small" aria-disabled={marking.isPending} onClick={() => mark(unread)}>
            {t('readAll')}
          </Button>
        </p>
      )}
      <ul className="divide-y divide-line border-y border-line">
        {notices.map((notice) => {
          const { id, kind, name, at, due_at, is_read } = notice
          return (
            <li key={id} className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-1 py-2">
              <span className="min-w-0 wrap-anywhere">
                <TextLink
                  href={hrefOf(notice)}
                  onClick={() => {
                    mark(is_read ? [] : [notice])
                    onLeave()
                  }}
                >
                  {t(`kinds.${kind}`, { named: name === null ? 'no' : 'yes', name: name ?? '' })}
                </TextLink>
              </span>
              <span className="flex items-baseline gap-2 text-sm text-quiet">
                {due_at === null ? (
                  <Time at={at} show="relative" />
                ) : (
                  <span>{t.rich('due', { time: () => <Time at={due_at} show="relative" /> })}</span>
                )}
                {!is_read && <Badge tone="progress">{t('unread')}</Badge>}
              </span>
            </li>
          )
        })}
      </ul>
    </div>
  )
}
