# NFSGATHER_CHECK_CFLAG(VARIABLE, FLAGS, [IF-NOT])
# Appends FLAGS, all or none, to VARIABLE when the compiler takes them without a warning.
AC_DEFUN([NFSGATHER_CHECK_CFLAG], [
	AC_MSG_CHECKING([whether $CC takes $2])
	nfsgather_save_CFLAGS="$CFLAGS"
	CFLAGS="$CFLAGS $2 -Werror"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [])], [
		AC_MSG_RESULT([yes])
		AS_VAR_APPEND([$1], [" $2"])
	], [
		AC_MSG_RESULT([no])
		$3
	])
	CFLAGS="$nfsgather_save_CFLAGS"
])

# NFSGATHER_CHECK_CFLAGS(VARIABLE, LIST): each flag of LIST on its own.
AC_DEFUN([NFSGATHER_CHECK_CFLAGS],
	[m4_foreach_w([nfsgather_flag], [$2],
		[NFSGATHER_CHECK_CFLAG([$1], nfsgather_flag)])])

# NFSGATHER_CHECK_LINK(VARIABLE, FLAGS, [IF-NOT], [IF-SO])
# The same for FLAGS that the compiler must take for compiling and for linking.
AC_DEFUN([NFSGATHER_CHECK_LINK], [
	AC_MSG_CHECKING([whether $CC links with $2])
	nfsgather_save_CFLAGS="$CFLAGS"
	CFLAGS="$CFLAGS $2 -Werror"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [])], [
		AC_MSG_RESULT([yes])
		AS_VAR_APPEND([$1], [" $2"])
		$4
	], [
		AC_MSG_RESULT([no])
		$3
	])
	CFLAGS="$nfsgather_save_CFLAGS"
])
