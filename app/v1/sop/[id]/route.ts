import { app, route } from '#lib/app.ts'

export const GET = route(app.sops.read)
export const PUT = route(app.sops.revise)
