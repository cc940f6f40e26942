'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { cancelErasureAt, type Run } from './endpoints.ts'

interface CancelErasureProps {
  run: Pick<Run, 'state' | 'part' | 'request_id' | 'audit_id' | 'waits_for'>
  onCancelled: () => void
}
/** Cancels an erasure that waits for a store before its first step; otherwise renders nothing. Needs the messages `storeProgress`. */
export function CancelErasure({ run, onCancelled }: CancelErasureProps) {
  const t = useTranslations('storeProgress')
  const [isOpen, setOpen] = useState(false)
  // Quiet: the page of a cancelled erasure returns 404.
  const cancel = useApiMutation(cancelErasureAt, { touches: ['/api/projects'], isQuiet: true })
  const auditId = run.audit_id
  const isPart = run.part !== null && run.part.kind !== 'project'
  if (auditId === null || run.request_id !== null || !isPart || run.state !== 'planning' || run.waits_for.length === 0)
    return null
  return (
    <p>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t('cancel')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('cancelAsk')}
        consequences={<p>{t('cancelText')}</p>}
        action={t('cancel')}
        change={cancel}
        onConfirm={() =>
          cancel.begin({ params: { id: auditId } }, () => {
            setOpen(false)
            onCancelled()
          })
        }
      />
    </p>
  )
}
