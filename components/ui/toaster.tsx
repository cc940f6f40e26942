'use client'

import { useEffect, useState } from 'react'
import { useLoaded } from './loaded.ts'
import { onToast, type Toast } from './toast.ts'

const drawn = () => import('./toaster-drawn.tsx')

/** The place of all toasts. The library loads with the first one. */
export function Toaster() {
  const [waiting, setWaiting] = useState<readonly Toast[]>([])
  const loaded = useLoaded(drawn, waiting.length > 0)
  useEffect(() => onToast((toast) => setWaiting((before) => [...before, toast])), [])
  return loaded ? <loaded.DrawnToaster waiting={waiting} onShown={() => setWaiting([])} /> : null
}
