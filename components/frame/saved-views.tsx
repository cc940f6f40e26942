'use client'

import { Bookmark } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import type { SavedPage } from '#lib/domains/audit/rules.ts'

const savedList = () => import('./saved-list.tsx')

/** The saved filters of a page, with links to share. `search`: the current filters as a query string, without `?`. */
export function SavedViews({ page, search }: { page: SavedPage; search: string }) {
  const t = useTranslations('frame.saved')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(savedList, isOpen)
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        <Bookmark aria-hidden className="size-4" />
        {t('button')}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('button')} lead={t('lead')}>
        {loaded && <loaded.SavedList page={page} search={search} onLeave={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}
