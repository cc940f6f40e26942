'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { showToast } from '#components/ui/toast.ts'
import { isValidState } from '#lib/domains/tokens/rules.ts'
import { findTokenAt, ofTokens, revokePrefixAt } from './endpoints.ts'
import { MatchingTokenCard } from './matching-token.tsx'

const form = /^kp_[0-9A-Za-z]{8}$/
const prefixLength = 11

/** Revokes a token of which only the first characters are known, after showing which one it is. */
export function PrefixDialog() {
  const t = useTranslations('tiers.prefix')
  const revocation = useTranslations('tokens.revocation')
  const [isOpen, setIsOpen] = useState(false)
  const [prefix, setPrefix] = useState('')
  const isWhole = form.test(prefix)
  const isBegun = prefix !== '' && prefix.length < prefixLength
  const match = useApiQuery(findTokenAt, { query: { key_prefix: prefix } }, { enabled: isOpen && isWhole })
  const revoke = useApiMutation(revokePrefixAt, { touches: ofTokens })
  const token = isWhole ? match.data?.data : undefined
  const isRevocable = token !== undefined && isValidState(token.state)
  return (
    <>
      <Button tone="plain" onClick={() => setIsOpen(true)}>
        {t('open')}
      </Button>
      <Confirm
        open={isOpen}
        onOpenChange={setIsOpen}
        title={t('title')}
        consequences={<p>{revocation('text')}</p>}
        action={revocation('action', { count: 1 })}
        change={revoke}
        isIncomplete={!isRevocable}
        onConfirm={() =>
          revoke.begin({ body: { key_prefix: prefix } }, ({ data }) => {
            setIsOpen(false)
            setPrefix('')
            showToast({ title: t('done', { prefix: data.key_prefix }) })
          })
        }
      >
        <Field
          label={t('label')}
          hint={isBegun ? t('more', { count: prefixLength - prefix.length }) : t('hint')}
          error={prefix.length >= prefixLength && !isWhole ? t('wrong') : undefined}
          value={prefix}
          maxLength={60}
          autoComplete="off"
          spellCheck={false}
          className="font-mono"
          onChange={({ target }) => setPrefix(target.value.trim())}
        />
        <div aria-live="polite">
          {isWhole && match.isLoading && <Skeleton className="h-32" />}
          {isWhole && match.problem && <ProblemAlert problem={match.problem} />}
          {token && <MatchingTokenCard token={token} />}
        </div>
      </Confirm>
    </>
  )
}
