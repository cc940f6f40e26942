'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useChange } from '#components/frame/asking.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { liftAt, touched } from './places.ts'

/** Lifts a restriction that a request imposed. */
export function LiftButton({ projectId, participantId }: { projectId: string; participantId: string }) {
  const t = useTranslations('participants.restriction')
  const [isOpen, setOpen] = useState(false)
  const lifting = useChange(liftAt, { touches: touched })
  return (
    <>
      <Button tone="plain" className="justify-self-start" onClick={() => setOpen(true)}>
        {t('lift')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('liftTitle')}
        consequences={<p>{t('liftText')}</p>}
        action={t('liftDo')}
        tone="main"
        change={lifting}
        onConfirm={() => lifting.begin({ params: { projectId, participantId } }, () => setOpen(false))}
      />
    </>
  )
}
