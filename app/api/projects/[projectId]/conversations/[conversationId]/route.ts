import { app, route } from '#lib/app-instance.ts'

export const DELETE = route(app.erasing.eraseConversation)
export const GET = route(app.projects.readConversation)
export const PATCH = route(app.projects.editConversation)
