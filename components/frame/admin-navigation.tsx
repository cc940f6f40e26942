'use client'

import { Menu as MenuIcon } from 'lucide-react'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/dialog.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import type { readWaiting } from '#lib/domains/console/contract.ts'
import type { Output } from '#lib/kernel/operation.ts'
import { useApiQuery } from './api-query.ts'
import { countText } from './count-text.ts'
import { NavLink } from './nav-link.tsx'
import { navigationOf, type PageName } from './pages.ts'

const waitingAt: Endpoint<typeof readWaiting> = { method: 'get', path: '/api/admin/waiting' }
type Waiting = Output<typeof readWaiting>['data']

interface Count {
  count: number
  /** At least one of the items is urgent. */
  isUrgent: boolean
}
/** The number of open items on a page; undefined if there are none. */
function waitingOn(page: PageName, waiting: Waiting | undefined): Count | undefined {
  if (!waiting) return undefined
  const { requests, erasures, quarantined, holds, outbox, revocations } = waiting
  const counts: Partial<Record<PageName, Count>> = {
    requests: { count: requests?.open ?? 0, isUrgent: (requests?.overdue ?? 0) > 0 },
    erasures: {
      count: (erasures?.stuck ?? 0) + (erasures?.failed ?? 0),
      isUrgent: (erasures?.stuck ?? 0) + (erasures?.failed ?? 0) > 0,
    },
    safety: { count: quarantined ?? 0, isUrgent: false },
    holds: { count: holds?.ending ?? 0, isUrgent: false },
    outbox: { count: outbox?.undelivered ?? 0, isUrgent: (outbox?.undelivered ?? 0) > 0 },
    tiers: { count: revocations?.recent ?? 0, isUrgent: false },
  }
  const found = counts[page]
  return found && found.count > 0 ? found : undefined
}

function Places({ role }: { role: Role }) {
  const t = useTranslations('frame')
  const common = useTranslations('common')
  const names = useTranslations('pages')
  const { data } = useApiQuery(waitingAt, {}, { every: 60_000 })
  return (
    <ul className="grid gap-0.5">
      {navigationOf('admin', role).map(({ name, path }) => {
        const waiting = waitingOn(name, data?.data)
        return (
          <li key={name}>
            <NavLink href={path} className="justify-between">
              {names(name)}
              {waiting && (
                <span
                  className={waiting.isUrgent ? 'text-sm font-medium text-red tabular-nums' : 'text-sm tabular-nums'}
                >
                  {countText(common, waiting.count)}
                  <span className="sr-only">
                    {' '}
                    · {t('waitingCount', { count: waiting.count, shown: countText(common, waiting.count) })}
                  </span>
                </span>
              )}
            </NavLink>
          </li>
        )
      })}
    </ul>
  )
}

/** Navigation of the admin pages with counts of open items: a list on the left, a sheet on a phone. */
export function AdminNavigation({ role }: { role: Role }) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const path = usePathname()
  const [openedOn, setOpenedOn] = useState<string>()
  const here = navigationOf('admin', role).find((entry) => path === entry.path || path.startsWith(`${entry.path}/`))
  return (
    <>
      <nav aria-label={t('administration')} className="hidden w-52 shrink-0 py-8 pl-6 lg:block print:hidden">
        <div className="sticky top-4 -ml-2.5">
          <Places role={role} />
        </div>
      </nav>
      <div className="border-b border-line px-4 py-1 sm:px-6 lg:hidden print:hidden">
        <Button tone="ghost" size="small" className="-ml-3" aria-haspopup="dialog" onClick={() => setOpenedOn(path)}>
          <MenuIcon aria-hidden className="size-4.5" />
          {t('administration')}
          {here && <span className="text-quiet">· {names(here.name)}</span>}
        </Button>
        {/* The sheet closes when the path changes. */}
        <Sheet open={openedOn === path} onOpenChange={() => setOpenedOn(undefined)} title={t('administration')}>
          <nav aria-label={t('administration')}>
            <Places role={role} />
          </nav>
        </Sheet>
      </div>
    </>
  )
}
