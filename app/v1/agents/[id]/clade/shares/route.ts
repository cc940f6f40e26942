import { app, route } from '#lib/app.ts'

export const GET = route(app.clades.listShares)
export const POST = route(app.clades.addShare)
