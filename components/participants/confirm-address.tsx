'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { editAt, participantPaths } from './endpoints.ts'

interface ConfirmAddressProps {
  projectId: string
  participantId: string
  email: string
}
/** Confirms the address that an agent reported, so that its holder can claim the participation. */
export function ConfirmAddress({ projectId, participantId, email }: ConfirmAddressProps) {
  const t = useTranslations('participants.address')
  const [isOpen, setOpen] = useState(false)
  const confirming = useApiMutation(editAt, { touches: participantPaths })
  return (
    <>
      <Button tone="plain" className="justify-self-start" onClick={() => setOpen(true)}>
        {t('confirm')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('confirmTitle', { email })}
        consequences={<p>{t('confirmText')}</p>}
        action={t('confirmDo')}
        tone="main"
        change={confirming}
        onConfirm={() =>
          confirming.begin({ params: { projectId, participantId }, body: { email } }, () => setOpen(false))
        }
      />
    </>
  )
}
