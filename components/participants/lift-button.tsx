'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { liftAt, participantPaths } from './endpoints.ts'

/** Lifts a restriction that a request imposed. */
export function LiftButton({ projectId, participantId }: { projectId: string; participantId: string }) {
  const t = useTranslations('participants.restriction')
  const [isOpen, setOpen] = useState(false)
  const lifting = useApiMutation(liftAt, { touches: participantPaths })
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
