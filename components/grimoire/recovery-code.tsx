'use client'

import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { Checkbox } from '#components/ui/field.tsx'
import { Secret } from '#components/ui/secret.tsx'

interface RecoveryCodeProps {
  code: string
  agentId: string
  isKept: boolean
  onKept: (isKept: boolean) => void
}
/** Shows a recovery code, once: to copy, to download, and to confirm that it is saved. */
export function RecoveryCode({ code, agentId, isKept, onKept }: RecoveryCodeProps) {
  const t = useTranslations('agentGrimoire.code')
  const [file, setFile] = useState<string>()
  const text = t('file', { agent: agentId, code })
  useEffect(() => {
    const address = URL.createObjectURL(new Blob([`${text}\n`], { type: 'text/plain;charset=utf-8' }))
    setFile(address)
    return () => URL.revokeObjectURL(address)
  }, [text])
  return (
    <div className="grid gap-4">
      <p>{t('text')}</p>
      <Secret value={code} label={t('label')} />
      <PlainButtonLink
        tone="plain"
        size="small"
        href={file}
        download={t('fileName', { agent: agentId })}
        className="justify-self-start"
      >
        {t('download')}
      </PlainButtonLink>
      <Checkbox
        name="kept"
        checked={isKept}
        onChange={({ target }) => onKept(target.checked)}
        label={t('kept')}
        hint={t('keptHint')}
      />
    </div>
  )
}
