'use client'

import { clsx } from 'clsx'
import { PanelLeftClose, PanelLeftOpen } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { Brand } from './brand.tsx'
import { NavigationList } from './navigation-list.tsx'

interface SidebarProps {
  role: Role
  organisation: string
  /** As the reader left it; a cookie holds it, so that the first view has the right width. */
  isNarrowAtFirst: boolean
  keepNarrow: (isNarrow: boolean) => Promise<void>
}

/** The navigation on the left of wide screens. It can be reduced to icons. Phones have a sheet, see `NavigationSheet`. */
export function Sidebar({ role, organisation, isNarrowAtFirst, keepNarrow }: SidebarProps) {
  const t = useTranslations('frame')
  const [isNarrow, setIsNarrow] = useState(isNarrowAtFirst)
  const toggle = () => {
    setIsNarrow(!isNarrow)
    // Only the next full page load needs the cookie, so a failure has no effect now.
    keepNarrow(!isNarrow).catch(() => {})
  }
  const Icon = isNarrow ? PanelLeftOpen : PanelLeftClose
  const label = t(isNarrow ? 'expandSidebar' : 'collapseSidebar')
  return (
    // One landmark for all of it: also the brand and the button belong to the navigation.
    <nav
      aria-label={t('navigation')}
      className={clsx(
        'sticky top-0 flex h-dvh shrink-0 flex-col border-r border-line bg-raised max-lg:hidden print:hidden',
        isNarrow ? 'w-14' : 'w-60',
      )}
    >
      <div className="flex h-12 shrink-0 items-center px-3">
        <Brand href="/overview" organisation={organisation} isNarrow={isNarrow} />
      </div>
      <div className="min-h-0 grow overflow-y-auto px-3 py-3">
        <NavigationList role={role} isNarrow={isNarrow} />
      </div>
      <div className="border-t border-line px-3 py-2">
        <button
          type="button"
          onClick={toggle}
          title={label}
          aria-label={label}
          className="flex size-8 items-center justify-center rounded-small text-quiet hover:bg-sunken hover:text-ink"
        >
          <Icon aria-hidden className="size-4" />
        </button>
      </div>
    </nav>
  )
}
