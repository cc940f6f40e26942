'use client'

import { Search } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { useKeys } from './keys.ts'
import { mayOpen, pages } from './pages.ts'

const palette = () => import('./command-palette.tsx')
const help = () => import('./key-help.tsx')

/** The keyboard shortcuts of every page, and the button of the command palette. */
export function FrameKeys({ role }: { role: Role }) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const keys = useTranslations('common.keys')
  const router = useRouter()
  const [shown, setShown] = useState<'palette' | 'help'>()
  const loadedPalette = useLoaded(palette, shown === 'palette')
  const loadedHelp = useLoaded(help, shown === 'help')
  useKeys([
    { key: '?', label: keys('help'), run: () => setShown('help') },
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
      setShown('palette')
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const onOpenChange = (open: boolean) => setShown((before) => (open ? before : undefined))
  return (
    <>
      <Button
        tone="plain"
        size="small"
        title={`${keys('palette')} (⌘K)`}
        aria-label={keys('palette')}
        aria-keyshortcuts="Meta+K Control+K"
        onClick={() => setShown('palette')}
        className="border-line font-normal text-quiet max-md:border-0 max-md:bg-transparent max-md:px-2 md:mr-2 md:w-52 md:justify-start"
      >
        <Search aria-hidden className="size-4 max-md:size-4.5 max-md:text-ink" />
        <span aria-hidden className="grow text-left max-md:hidden">
          {t('palette')}
        </span>
        <kbd aria-hidden className="font-mono text-[0.8125rem] max-md:hidden">
          ⌘K
        </kbd>
      </Button>
      {loadedPalette && (
        <loadedPalette.CommandPalette open={shown === 'palette'} onOpenChange={onOpenChange} role={role} />
      )}
      {loadedHelp && <loadedHelp.KeyHelp open={shown === 'help'} onOpenChange={onOpenChange} />}
      <span className="sr-only">{t('shortcuts')}: ?</span>
    </>
  )
}
