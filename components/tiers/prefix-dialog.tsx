'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { ofTokens, revokePrefixAt } from './endpoints.ts'

const form = /^kp_[0-9A-Za-z]{8}$/

/** Revokes a token of which only the first characters are known. */
export function PrefixDialog() {
  const t = useTranslations('tiers.prefix')
  const [isOpen, setIsOpen] = useState(false)
  const [prefix, setPrefix] = useState('')
  const [done, setDone] = useState<string>()
  const revoke = useApiMutation(revokePrefixAt, { touches: ofTokens })
  const isWhole = form.test(prefix)
  return (
    <>
      <Button
        tone="plain"
        onClick={() => {
          setDone(undefined)
          setIsOpen(true)
        }}
      >
        {t('open')}
      </Button>
      {done !== undefined && <Alert tone="done" title={t('done', { prefix: done })} isLive />}
      <Confirm
        open={isOpen}
        onOpenChange={setIsOpen}
        title={t('title')}
        consequences={<p>{t('lead')}</p>}
        action={t('action')}
        change={revoke}
        isIncomplete={!isWhole}
        onConfirm={() =>
          revoke.begin({ body: { key_prefix: prefix } }, ({ data }) => {
            setIsOpen(false)
            setPrefix('')
            setDone(data.key_prefix)
          })
        }
      >
        <Field
          label={t('label')}
          hint={t('hint')}
          error={prefix.length >= 11 && !isWhole ? t('wrong') : undefined}
          value={prefix}
          maxLength={60}
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
          onChange={({ target }) => setPrefix(target.value.trim())}
        />
      </Confirm>
    </>
  )
}
