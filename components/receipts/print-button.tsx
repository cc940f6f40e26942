'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'

export function PrintButton() {
  const t = useTranslations('receipt')
  return (
    <Button tone="plain" onClick={() => window.print()}>
      {t('print')}
    </Button>
  )
}
