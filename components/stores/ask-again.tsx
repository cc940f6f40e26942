'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useTransition } from 'react'
import { Button } from '#components/ui/button.tsx'

/** Asks every store anew. */
export function AskAgain() {
  const t = useTranslations('stores')
  const router = useRouter()
  const [isAsking, begin] = useTransition()
  return (
    <Button
      tone="plain"
      size="small"
      aria-disabled={isAsking}
      onClick={() => !isAsking && begin(() => router.refresh())}
    >
      {isAsking ? t('asking') : t('again')}
    </Button>
  )
}
