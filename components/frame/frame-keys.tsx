'use client'

import { Search } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { useKeys } from './keys.ts'
import { mayOpen, pages } from './pages.ts'

// Fetched when they are first asked for.
const CommandPalette = dynamic(() => import('./command-palette.tsx').then((file) => file.CommandPalette), {
  ssr: false,
})
const KeyHelp = dynamic(() => import('./key-help.tsx').then((file) => file.KeyHelp), { ssr: false })

/** The keys that work on every page, and the palette's button. */
export function FrameKeys({ role }: { role: Role }) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const keys = useTranslations('common.keys')
  const router = useRouter()
  const [shown, setShown] = useState<'palette' | 'help'>()
  const [wasAsked, setWasAsked] = useState(false)
  const show = (what: 'palette' | 'help') => {
    setWasAsked(true)
    setShown(what)
  }
  useKeys([
    { key: '?', label: keys('help'), run: () => show('help') },
    ...pages
      .filter((entry) => mayOpen(entry, role))
      .flatMap((entry) =>
        'keys' in entry ? [{ key: entry.keys, label: names(entry.name), run: () => router.push(entry.path) }] : [],
      ),
  ])
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.metaKey || event.ctrlKey) || event.altKey) return
      event.preventDefault()
      setWasAsked(true)
      setShown('palette')
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const onOpenChange = (open: boolean) => setShown((before) => (open ? before : undefined))
  return (
    <>
      <Button
        tone="ghost"
        size="icon"
        title={`${keys('palette')} (⌘K)`}
        aria-label={keys('palette')}
        aria-keyshortcuts="Meta+K Control+K"
        onClick={() => show('palette')}
      >
        <Search aria-hidden className="size-4.5" />
      </Button>
      {wasAsked && <CommandPalette open={shown === 'palette'} onOpenChange={onOpenChange} role={role} />}
      {wasAsked && <KeyHelp open={shown === 'help'} onOpenChange={onOpenChange} />}
      <span className="sr-only">{t('shortcuts')}: ?</span>
    </>
  )
}
