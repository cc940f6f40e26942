'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button, PlainButtonLink } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Secret } from '#components/ui/secret.tsx'
import { renewCodesAt, touchedByFactors } from './endpoints.ts'

/** Shows new recovery codes once, to copy or download. */
export function RecoveryCodes({ codes, onClose }: { codes: string[] | undefined; onClose: () => void }) {
  const t = useTranslations('secondFactors.codes')
  const [file, setFile] = useState<string>()
  const text = (codes ?? []).join('\n')
  useEffect(() => {
    const address = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain;charset=utf-8' }))
    setFile(address)
    return () => URL.revokeObjectURL(address)
  }, [text])
  return (
    <Dialog
      open={codes !== undefined}
      onOpenChange={(open) => !open && onClose()}
      title={t('title')}
      lead={<p>{t('text')}</p>}
    >
      <Secret value={text} label={t('title')} />
      <DialogFooter>
        <PlainButtonLink tone="plain" href={file} download="knowledgepulse-recovery-codes.txt">
          {t('download')}
        </PlainButtonLink>
        <Button onClick={onClose}>{t('saved')}</Button>
      </DialogFooter>
    </Dialog>
  )
}

/** Replaces the recovery codes after a confirmation. */
export function RenewCodes({ onCodes }: { onCodes: (codes: string[] | undefined) => void }) {
  const t = useTranslations('secondFactors.codes')
  const [isOpen, setOpen] = useState(false)
  const renewing = useApiMutation(renewCodesAt, { touches: touchedByFactors })
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t('renew')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setOpen}
        title={t('renewTitle')}
        consequences={<p>{t('renewText')}</p>}
        action={t('renew')}
        tone="main"
        change={renewing}
        onConfirm={() =>
          renewing.begin({}, ({ data }) => {
            setOpen(false)
            onCodes(data.recovery_codes)
          })
        }
      />
    </>
  )
}
