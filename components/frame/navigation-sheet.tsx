'use client'

import { Menu as MenuIcon } from 'lucide-react'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { SideSheet } from '#components/ui/dialog.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { NavigationList } from './navigation-list.tsx'

/** The navigation on phones and narrow windows: a button that opens a sheet on the left. */
export function NavigationSheet({ role }: { role: Role }) {
  const t = useTranslations('frame')
  const path = usePathname()
  const [openedOn, setOpenedOn] = useState<string>()
  return (
    <div className="lg:hidden">
      <Button
        tone="ghost"
        size="icon"
        aria-haspopup="dialog"
        aria-label={t('menu')}
        title={t('menu')}
        onClick={() => setOpenedOn(path)}
      >
        <MenuIcon aria-hidden className="size-5" />
      </Button>
      {/* The sheet closes when the path changes. */}
      <SideSheet open={openedOn === path} onOpenChange={() => setOpenedOn(undefined)} title={t('menu')}>
        <nav aria-label={t('navigation')}>
          <NavigationList role={role} />
        </nav>
      </SideSheet>
    </div>
  )
}
