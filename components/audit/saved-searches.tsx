'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { useLoaded } from '#components/ui/loaded.ts'

const list = () => import('./search-list.tsx')

/** The saved filters of the signed-in person. `search`: the current filters as a query string. */
export function SavedSearches({ search }: { search: string }) {
  const t = useTranslations('audit.saved')
  const [isOpen, setOpen] = useState(false)
  const loaded = useLoaded(list, isOpen)
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        {t('button')}
      </Button>
      <Dialog open={isOpen} onOpenChange={setOpen} title={t('button')} lead={t('lead')}>
        {loaded && <loaded.SearchList search={search} onLeave={() => setOpen(false)} />}
      </Dialog>
    </>
  )
}
