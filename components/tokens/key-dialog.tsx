'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useBackStop, useLeaveWarning } from '#components/frame/leave-warning.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { Secret } from '#components/ui/secret.tsx'

interface KeyDialogProps {
  /** Undefined if this was a replay: the key was shown before and is stored nowhere. */
  apiKey: string | undefined
  title: string
  /** Explains below the key how to use it. */
  children?: ReactNode
  /** Next steps, shown after the user confirms that the key is stored, because following a link loses it. */
  after?: ReactNode
  /** Explains what to do after a replay, which has no key. */
  replayed: string
  onClose: () => void
}

/** Shows a key once. It closes only after the user confirms that the key is stored or may be lost. */
export function KeyDialog({ apiKey, title, children, after, replayed, onClose }: KeyDialogProps) {
  const t = useTranslations('tokens.key')
  const [isStored, setStored] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const mayClose = isStored || apiKey === undefined
  useLeaveWarning(!mayClose)
  const giveBack = useBackStop(true, () => {
    if (mayClose) onClose()
    else setAsking(true)
    return mayClose
  })
  const close = () => {
    giveBack()
    onClose()
  }
  const leave = () => (mayClose ? close() : setAsking(true))
  return (
    <Dialog open onOpenChange={(open) => !open && leave()} title={title} lead={apiKey ? <p>{t('lead')}</p> : undefined}>
      {apiKey === undefined ? (
        <Alert tone="warning" title={replayed} isLive />
      ) : (
        <>
          <Secret value={apiKey} label={t('name')} />
          {children}
          <Checkbox
            name="stored"
            label={t('stored')}
            checked={isStored}
            onChange={(event) => {
              setStored(event.target.checked)
              setAsking(false)
            }}
          />
        </>
      )}
      {isAsking && !mayClose && (
        <Alert tone="danger" title={t('leave')} isLive>
          <div className="flex flex-wrap gap-2">
            <Button tone="plain" size="small" onClick={() => setAsking(false)}>
              {t('stay')}
            </Button>
            <Button tone="danger" size="small" onClick={close}>
              {t('closeAnyway')}
            </Button>
          </div>
        </Alert>
      )}
      {mayClose && after}
      <DialogFooter>
        <Button onClick={leave} aria-disabled={!mayClose}>
          {t('done')}
        </Button>
      </DialogFooter>
    </Dialog>
  )
}
