// journal/patch_options.h - the options that patches add, journal/options/*.h. The build adds an
// include for each applied one (site_scons/staging.py), so that two patches which ask for their
// options in one file do not edit the same block of includes.
#pragma once
