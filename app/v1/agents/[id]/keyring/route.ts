import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.grimoire.readKeyring)
export const PUT = route(app.grimoire.storeKeyring)
