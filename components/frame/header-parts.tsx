'use client'

import { Bell, LoaderCircle } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import { Menu } from '#components/ui/menu.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { readWork } from '#lib/domains/console/contract.ts'
import { useApiQuery } from './api-query.ts'
import { waitingAt } from './endpoints.ts'
import { workPageOf } from './work-pages.ts'

const workAt: Endpoint<typeof readWork> = { method: 'get', path: '/api/work' }

/** Polling intervals in milliseconds: while something runs, and otherwise. */
const pace = { running: 4_000, idle: 60_000 }

/** Shows running work on every page, so that people can leave long work and find it again. */
export function WorkIndicator() {
  const t = useTranslations('frame')
  const { data } = useApiQuery(
    workAt,
    {},
    { every: (answer) => ((answer?.data.total ?? 0) > 0 ? pace.running : pace.idle) },
  )
  const work = data?.data
  if (!work || work.total === 0) return null
  return (
    <Menu
      lead={t('workTitle')}
      trigger={
        <Button tone="accent" size="small" aria-label={t('working', { count: work.total })}>
          <LoaderCircle aria-hidden className="size-4 motion-safe:animate-spin" />
          <span aria-hidden className="sm:hidden">
            {work.total}
          </span>
          <span className="max-sm:hidden">{t('working', { count: work.total })}</span>
        </Button>
      }
      items={work.items.map((item) => ({
        key: item.id,
        href: workPageOf(item),
        label: (
          <span className="flex w-full items-baseline justify-between gap-4">
            <span>{t(`workKinds.${item.kind}`)}</span>
            <span className={item.state === 'stuck' ? 'text-sm text-amber' : 'text-sm text-quiet tabular-nums'}>
              {item.state === 'stuck'
                ? t('workStuck')
                : item.total > 0
                  ? t('workOf', { done: item.done, total: item.total })
                  : ''}
            </span>
          </span>
        ),
      }))}
    />
  )
}

const noticeList = () => import('./notice-list.tsx')

/** What needs an admin now, with the number of unread ones. The list is loaded when it is opened. */
export function NoticeBell() {
  const t = useTranslations('frame.notices')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(noticeList, isOpen)
  const { data } = useApiQuery(waitingAt, {}, { every: 60_000 })
  const unread = data?.data.notices?.unread ?? 0
  return (
    <>
      <Button
        tone="quiet"
        size="icon"
        className="relative"
        aria-label={t('button', { count: unread })}
        onClick={() => setOpen(true)}
      >
        <Bell aria-hidden className="size-4.5" />
        {unread > 0 && (
          <span
            aria-hidden
            className="absolute -top-0.5 -right-0.5 min-w-4 rounded-full bg-red px-1 text-center text-[0.6875rem] leading-4 font-medium text-on-red tabular-nums"
          >
            {unread > 99 ? '99+' : unread}
          </span>
        )}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('title')}>
        {loaded && <loaded.NoticeList onLeave={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}
